import { describe, expect, test } from "vitest";
import { CatalogError } from "../../catalog/catalog-error.ts";
import { definitionDigest } from "../../catalog/parse-tool.ts";
import { GENERATOR } from "../../codegen/typescript/typescript-printer.ts";
import { planGeneration } from "../../generation/generate-plan.ts";
import { textDigest } from "../../protocol/canonical-json.ts";
import { listingOf } from "../codegen/list-tools.ts";

const readFile = {
  name: "read_file",
  description: "Reads a file.",
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  annotations: { readOnlyHint: true },
};

describe("planning a generation", () => {
  test("a server gives a module, a catalog entry with its definitions as listed, and a lock entry", async () => {
    const listed = { ...readFile, _meta: { a: 1 }, icons: [], execution: {} };
    const { files, catalog, lock, warnings } = await planGeneration({
      listings: [{ ...listingOf([listed], "google-drive"), description: "Files" }],
    });
    expect([...files.keys()]).toEqual([
      "servers/google_drive/index.ts",
      "runtime.d.ts",
      "globals.d.ts",
      ".node.d.ts",
      "tsconfig.json",
      "catalog.json",
      "ptc.lock.json",
    ]);
    expect(JSON.parse(files.get("catalog.json") ?? "")).toEqual({
      version: 1,
      servers: [
        {
          name: "google-drive",
          module: "google_drive",
          description: "Files",
          // What is for clients alone is kept, and is part of no digest.
          tools: [{ identifier: "readFile", ...readFile, _meta: { a: 1 } }],
        },
      ],
    });
    expect(JSON.parse(files.get("ptc.lock.json") ?? "")).toEqual({
      version: 1,
      generator: GENERATOR,
      files: Object.fromEntries(
        [".node.d.ts", "catalog.json", "globals.d.ts", "runtime.d.ts", "tsconfig.json"].map((path) => [
          path,
          textDigest(files.get(path) ?? ""),
        ]),
      ),
      servers: {
        "google-drive": {
          module: "google_drive",
          implementation: { name: "google-drive", version: "1.0.0" },
          protocolVersion: "2025-11-25",
          moduleSha256: textDigest(files.get("servers/google_drive/index.ts") ?? ""),
          tools: { read_file: { identifier: "readFile", sha256: definitionDigest(readFile) } },
        },
      },
    });
    expect(files.get("globals.d.ts")).toContain(
      'declare const mcp__google_drive__read_file: typeof import("./servers/google_drive/index.js").readFile;',
    );
    expect(catalog.servers).toHaveLength(1);
    expect(lock.servers.size).toBe(1);
    expect(warnings).toEqual([]);
  });

  test("no servers give an empty catalog", async () => {
    const { files } = await planGeneration({ listings: [] });
    expect(files.get("catalog.json")).toBe('{\n  "version": 1,\n  "servers": []\n}\n');
  });

  test("a kept server stays to the byte, one that is neither listed nor kept disappears", async () => {
    const first = await planGeneration({
      listings: [
        listingOf([readFile], "a"),
        listingOf([readFile, { name: "__proto__" }], "b"),
        listingOf([], "c"),
      ],
    });
    const second = await planGeneration({
      listings: [listingOf([], "a")],
      previous: first,
      keep: ["b", "unknown"],
    });
    expect([...second.files.keys()].filter((path) => path.startsWith("servers/"))).toEqual([
      "servers/a/index.ts",
      "servers/b/index.ts",
    ]);
    expect(second.files.get("servers/b/index.ts")).toBe(first.files.get("servers/b/index.ts"));
    expect(second.lock.servers.get("b")).toEqual(first.lock.servers.get("b"));
    expect(second.catalog.servers[1]).toEqual(first.catalog.servers[1]);
  });

  test("an identifier in the previous lock outlives a tool that would take it", async () => {
    const first = await planGeneration({ listings: [listingOf([{ name: "get_doc" }])] });
    const second = await planGeneration({
      listings: [listingOf([{ name: "getDoc" }, { name: "get_doc" }])],
      previous: first,
    });
    const tools = second.lock.servers.get("demo")?.tools;
    expect(tools?.get("get_doc")?.identifier).toBe("getDoc");
    expect(tools?.get("getDoc")?.identifier).toMatch(/^getDoc_[0-9a-f]{8}$/);
  });

  test("a server that lists the members of its definitions in another order changes no byte", async () => {
    const first = await planGeneration({ listings: [listingOf([readFile])] });
    const { name, description, inputSchema, annotations } = readFile;
    const { required, properties, type } = inputSchema;
    const reordered = { annotations, inputSchema: { required, properties, type }, description, name };
    const second = await planGeneration({ listings: [listingOf([reordered])], previous: first });
    expect([...second.files]).toEqual([...first.files]);
  });

  describe("again", () => {
    const request = () => ({ listings: [listingOf([readFile], "a"), listingOf([readFile], "b")] });
    /** The module texts that the earlier generation left, marked so that one that is taken over can be told. */
    async function generateAgain(change: (mark: Marked) => void = () => {}) {
      const first = await planGeneration(request());
      const modules = new Map(first.files);
      const marked = `${first.files.get("servers/a/index.ts")}// marked\n`;
      modules.set("servers/a/index.ts", marked);
      const locked = first.lock.servers.get("a");
      if (locked !== undefined) locked.moduleSha256 = textDigest(marked);
      const next = { ...request(), previous: first, modules };
      change({ next, first });
      return (await planGeneration(next)).files.get("servers/a/index.ts")?.endsWith("// marked\n");
    }
    type Marked = {
      next: { listings: ReturnType<typeof listingOf>[]; modules: Map<string, string> };
      first: Awaited<ReturnType<typeof planGeneration>>;
    };
    const list = (tools: unknown[]) => listingOf(tools, "a");

    test("the module of a server that lists the same is taken over and not printed", async () => {
      expect(await generateAgain()).toBe(true);
    });

    test.each<[string, (marked: Marked) => void]>([
      ["it lists another tool", ({ next }) => next.listings.splice(0, 1, list([readFile, { name: "b" }]))],
      ["a tool is gone", ({ next }) => next.listings.splice(0, 1, list([]))],
      [
        "a tool changed",
        ({ next }) => next.listings.splice(0, 1, list([{ ...readFile, description: "Reads." }])),
      ],
      [
        "its description in the configuration changed",
        ({ next }) => next.listings.splice(0, 1, { ...list([readFile]), description: "Other" }),
      ],
      [
        "its entry was edited",
        ({ first }) => {
          for (const tool of first.catalog.servers[0]?.tools ?? []) tool.annotations = {};
        },
      ],
      ["somebody edited the module", ({ next }) => next.modules.set("servers/a/index.ts", "// edited\n")],
      ["the module is gone", ({ next }) => next.modules.delete("servers/a/index.ts")],
      [
        "another generator wrote it",
        ({ first }) => {
          first.lock.generator = "0";
        },
      ],
    ])("a module is printed anew when %s", async (_what, change) => {
      expect(await generateAgain(change)).toBe(false);
    });

    test("a lock written before there were generator versions is printed anew", async () => {
      expect(
        await generateAgain(({ first }) => {
          delete first.lock.generator;
        }),
      ).toBe(false);
    });

    test("what is wrong with a definition is told every time", async () => {
      const listings = [listingOf([{ name: "t", inputSchema: { $ref: "x.json" } }])];
      const first = await planGeneration({ listings });
      const second = await planGeneration({ listings, previous: first });
      expect(first.warnings).toHaveLength(1);
      expect(second.warnings).toEqual(first.warnings);
      expect([...second.files]).toEqual([...first.files]);
    });
  });

  test("two servers that would share a module are refused, naming both", async () => {
    const listings = [listingOf([], "my-server"), listingOf([], "my_server")];
    await expect(planGeneration({ listings })).rejects.toThrow(CatalogError);
    await expect(planGeneration({ listings })).rejects.toThrow(/'my_server'.*'my-server'/);
  });

  test("the digest of a definition covers what it does, and nothing else", () => {
    const digest = definitionDigest(readFile);
    expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(definitionDigest({ ...readFile, _meta: {}, icons: [] })).toBe(digest);
    for (const change of [
      { name: "other" },
      { title: "T" },
      { description: "Writes a file." },
      { inputSchema: {} },
      { outputSchema: {} },
      { annotations: { readOnlyHint: false } },
    ])
      expect(definitionDigest({ ...readFile, ...change })).not.toBe(digest);
  });
});
