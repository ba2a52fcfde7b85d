import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { definitionDigest } from "../../../catalog/parse-tool.ts";
import { findCatalog, readCatalog } from "../../../catalog/store/catalog-file.ts";
import { writeGenerated } from "../../../catalog/store/write-generated.ts";
import { type GenerationPlan, planGeneration } from "../../../generation/generate-plan.ts";
import { listingOf } from "../../codegen/list-tools.ts";

/** The two files as data, to be edited. */
interface Files {
  catalog: { servers: { name: string; module: string; tools: Record<string, unknown>[] }[] };
  lock: {
    files?: Record<string, string>;
    servers: Record<
      string,
      { module: string; moduleSha256?: string; tools: Record<string, { identifier: string; sha256: string }> }
    >;
  };
}

const schema = { type: "object", properties: { path: { type: "string" } } };
const TOOLS = [
  {
    name: "delete_all",
    description: "Deletes everything.",
    inputSchema: schema,
    outputSchema: schema,
    annotations: { destructiveHint: true },
  },
  { name: "read_all", inputSchema: schema, annotations: { readOnlyHint: true } },
];
const listings = () => [listingOf(TOOLS, "files"), listingOf([{ name: "other" }], "desk")];

let dir: string;
let plan: GenerationPlan;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "ptc-edited-"));
  plan = await planGeneration({ listings: listings() });
  await writeGenerated(dir, plan.files);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const read = (path: string) => JSON.parse(readFileSync(join(dir, path), "utf8"));

function edit(change: (files: Files) => void): void {
  const files: Files = { catalog: read("catalog.json"), lock: read("ptc.lock.json") };
  change(files);
  writeFileSync(join(dir, "catalog.json"), JSON.stringify(files.catalog));
  writeFileSync(join(dir, "ptc.lock.json"), JSON.stringify(files.lock));
}

function filesServer({ catalog, lock }: Files) {
  const [entry] = catalog.servers.filter(({ name }) => name === "files");
  const locked = lock.servers.files;
  if (entry === undefined || locked === undefined) throw new Error("there is no such server");
  const tool = (name: string) => entry.tools.find((each) => each.name === name) ?? {};
  return { entry, locked, tool };
}

/** Edits that can be told from the two files alone, with the tool that they are about. */
const EDITS: [string, string | undefined, (files: Files) => void][] = [
  [
    "a hint is deleted",
    "delete_all",
    (files) => void delete filesServer(files).tool("delete_all").annotations,
  ],
  [
    "a hint is turned round",
    "delete_all",
    (files) =>
      Object.assign(filesServer(files).tool("delete_all"), { annotations: { destructiveHint: false } }),
  ],
  [
    "its arguments' schema is wider",
    "delete_all",
    (files) => Object.assign(filesServer(files).tool("delete_all"), { inputSchema: {} }),
  ],
  [
    "its result's schema is gone",
    "delete_all",
    (files) => void delete filesServer(files).tool("delete_all").outputSchema,
  ],
  [
    "it says something else of itself",
    "delete_all",
    (files) => Object.assign(filesServer(files).tool("delete_all"), { description: "Harmless." }),
  ],
  [
    "it has another name",
    "delete_most",
    (files) => Object.assign(filesServer(files).tool("delete_all"), { name: "delete_most" }),
  ],
  [
    "two definitions are swapped",
    "delete_all",
    (files) => {
      const { entry, tool } = filesServer(files);
      const [first, second] = [tool("delete_all"), tool("read_all")];
      entry.tools = [
        { ...second, name: first.name, identifier: first.identifier },
        { ...first, name: second.name, identifier: second.identifier },
      ];
    },
  ],
  [
    "two digests are swapped",
    "delete_all",
    (files) => {
      const { tools } = filesServer(files).locked;
      const [first, second] = [tools.delete_all?.sha256 ?? "", tools.read_all?.sha256 ?? ""];
      Object.assign(tools.delete_all ?? {}, { sha256: second });
      Object.assign(tools.read_all ?? {}, { sha256: first });
    },
  ],
  ["its entry is deleted", "delete_all", (files) => void filesServer(files).entry.tools.shift()],
  ["its digest is deleted", "delete_all", (files) => void delete filesServer(files).locked.tools.delete_all],
  [
    "there is one more",
    "made_up",
    (files) =>
      void filesServer(files).entry.tools.push({ name: "made_up", identifier: "madeUp", inputSchema: {} }),
  ],
  [
    "there is one twice",
    "delete_all",
    (files) => void filesServer(files).entry.tools.push({ ...filesServer(files).tool("delete_all") }),
  ],
  [
    "two identifiers are swapped in both files",
    "delete_all",
    (files) => {
      const { locked, tool } = filesServer(files);
      Object.assign(tool("delete_all"), { identifier: "readAll" });
      Object.assign(tool("read_all"), { identifier: "deleteAll" });
      Object.assign(locked.tools.delete_all ?? {}, { identifier: "readAll" });
      Object.assign(locked.tools.read_all ?? {}, { identifier: "deleteAll" });
    },
  ],
  [
    "a server has another module in both files, which no pattern in the configuration names",
    undefined,
    (files) => {
      filesServer(files).entry.module = "harmless";
      filesServer(files).locked.module = "harmless";
    },
  ],
  [
    "a server stands twice",
    undefined,
    ({ catalog }) => void catalog.servers.push(...catalog.servers.slice(1)),
  ],
  ["a server's entry is deleted", undefined, ({ catalog }) => void catalog.servers.pop()],
  ["a server's digests are deleted", undefined, ({ lock }) => void delete lock.servers.files],
];

describe("an edited catalog", () => {
  test.each(EDITS)("is refused in one line where %s", async (_what, tool, change) => {
    edit(change);
    const error = await readCatalog(dir).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ name: "CatalogError", code: "edited" });
    const { message } = error as Error;
    expect(message).toMatch(/^[^\n]*catalog\.json was edited: [^\n]*'files'[^\n]*: run `ptc generate`$/);
    if (tool !== undefined) expect(message).toContain(`tool '${tool}'`);
  });

  test.each(EDITS)("is written as it was where %s", async (_what, _tool, change) => {
    edit(change);
    const previous = await findCatalog(dir);
    expect(previous?.edits.length).toBeGreaterThan(0);
    for (const modules of [undefined, plan.files]) {
      const again = await planGeneration({ listings: listings(), previous, ...(modules && { modules }) });
      expect([...again.files]).toEqual([...plan.files]);
    }
  });

  test.each(EDITS)(
    "is not believed of a server that cannot be asked where %s",
    async (_what, tool, change) => {
      edit(change);
      const previous = await findCatalog(dir);
      const { catalog } = await planGeneration({ listings: [], previous, keep: ["files", "desk"] });
      const kept = catalog.servers.find(({ name }) => name === "files")?.tools ?? [];
      const listed = new Map(TOOLS.map((tool) => [tool.name, definitionDigest(tool)]));
      for (const each of kept) expect(definitionDigest(each)).toBe(listed.get(each.name));
      expect(kept.map(({ name }) => name)).not.toContain(tool);
      const untouched = catalog.servers.find(({ name }) => name === "desk");
      expect(untouched).toEqual(plan.catalog.servers.find(({ name }) => name === "desk"));
    },
  );

  test("whose lock was edited alone is told as that", async () => {
    edit(({ lock }) =>
      Object.assign(lock.servers.files?.tools.delete_all ?? {}, { sha256: `sha256:${"0".repeat(64)}` }),
    );
    writeFileSync(join(dir, "catalog.json"), plan.files.get("catalog.json") ?? "");
    await expect(readCatalog(dir)).rejects.toThrow(
      /ptc\.lock\.json was edited: tool 'delete_all' of server 'files'/,
    );
  });

  test("with the digest edited to match is not what the server lists, so that its calls have drifted", async () => {
    edit((files) => {
      const { locked, tool } = filesServer(files);
      const definition = tool("delete_all");
      delete definition.annotations;
      Object.assign(locked.tools.delete_all ?? {}, { sha256: definitionDigest(definition) });
    });
    const stored = await readCatalog(dir);
    const locked = stored?.lock.servers.get("files")?.tools.get("delete_all")?.sha256;
    expect(locked).not.toBe(definitionDigest(TOOLS[0]));
    const again = await planGeneration({ listings: listings(), previous: stored, modules: plan.files });
    expect([...again.files]).toEqual([...plan.files]);
  });

  test("of the version before is read, and written again with the digests that it lacks", async () => {
    edit(({ lock }) => {
      delete lock.files;
      delete lock.servers.desk?.moduleSha256;
    });
    const stored = await readCatalog(dir);
    expect(stored?.catalog).toEqual(plan.catalog);
    const again = await planGeneration({ listings: listings(), previous: stored });
    expect(await writeGenerated(dir, again.files)).toMatchObject({ edited: [], left: [] });
    expect(readFileSync(join(dir, "ptc.lock.json"), "utf8")).toBe(plan.files.get("ptc.lock.json"));
  });

  test("names the tool without what could steer a terminal", async () => {
    const name = `a\n\u001b[2J\u2028\u202e${"x".repeat(1_000)}`;
    edit((files) => void filesServer(files).entry.tools.push({ name, identifier: "a", inputSchema: {} }));
    const { message } = (await readCatalog(dir).catch((cause: unknown) => cause)) as Error;
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(message.length).toBeLessThan(500);
  });
});
