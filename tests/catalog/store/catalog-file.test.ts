import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readCatalog } from "../../../catalog/store/catalog-file.ts";
import { writeGenerated } from "../../../catalog/store/write-generated.ts";
import { type GenerationPlan, planGeneration } from "../../../generation/generate-plan.ts";
import { listingOf } from "../../codegen/list-tools.ts";

let dir: string;
let plan: GenerationPlan;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "ptc-catalog-"));
  plan = await planGeneration({
    listings: [
      listingOf([{ name: "__proto__" }, { name: "constructor" }, { name: "a" }], "one"),
      listingOf([], "two"),
    ],
  });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe("the generated folder", () => {
  test("what was written is read back the same, tools called __proto__ too", async () => {
    await writeGenerated(dir, plan.files);
    const stored = await readCatalog(dir);
    expect(stored).toEqual({ catalog: plan.catalog, lock: plan.lock });
    expect([...(stored?.lock.servers.get("one")?.tools.keys() ?? [])]).toEqual([
      "__proto__",
      "a",
      "constructor",
    ]);
  });

  test("generating again from what was read back changes no byte", async () => {
    await writeGenerated(dir, plan.files);
    const previous = await readCatalog(dir);
    const listings = [
      listingOf([{ name: "a" }, { name: "constructor" }, { name: "__proto__" }], "one"),
      listingOf([], "two"),
    ];
    for (const modules of [plan.files, new Map<string, string>()]) {
      const again = await planGeneration({ listings, previous, modules });
      expect([...again.files]).toEqual([...plan.files]);
    }
  });

  test("a folder without a catalog, or none at all, reads as nothing", async () => {
    expect(await readCatalog(dir)).toBeUndefined();
    expect(await readCatalog(join(dir, "none"))).toBeUndefined();
  });

  test("equal files are not touched", async () => {
    await writeGenerated(dir, plan.files);
    const before = statSync(join(dir, "catalog.json"), { bigint: true });
    expect(await writeGenerated(dir, plan.files)).toEqual({ written: [], removed: [], edited: [], left: [] });
    const after = statSync(join(dir, "catalog.json"), { bigint: true });
    expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
  });

  test("modules of servers that are gone are removed, and nobody else's files", async () => {
    await writeGenerated(dir, plan.files);
    writeFileSync(join(dir, "notes.md"), "mine");
    writeFileSync(join(dir, "servers/two/helper.ts"), "mine");
    const next = await planGeneration({ listings: [] });
    const { removed } = await writeGenerated(dir, next.files);
    expect(removed).toEqual(["servers/one/index.ts", "servers/two/index.ts"]);
    expect(existsSync(join(dir, "servers/one"))).toBe(false);
    expect(readdirSync(join(dir, "servers/two"))).toEqual(["helper.ts"]);
    expect(readFileSync(join(dir, "notes.md"), "utf8")).toBe("mine");
    expect(readdirSync(dir).sort()).toEqual([...next.files.keys(), "notes.md", "servers"].sort());
  });

  test.each([
    "../evil.ts",
    "/etc/evil",
    "servers/../../evil.ts",
    "servers/a/b/index.ts",
    "servers/A b/index.ts",
    "x",
  ])("a path that is not ptc's is refused: %s", async (path) => {
    await expect(writeGenerated(dir, new Map([[path, ""]]))).rejects.toMatchObject({ code: "unsafe-path" });
    expect(readdirSync(dir)).toEqual([]);
  });

  test("a link to elsewhere in the place of a folder is refused before anything is written", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "ptc-elsewhere-"));
    try {
      symlinkSync(elsewhere, join(dir, "servers"));
      await expect(writeGenerated(dir, plan.files)).rejects.toMatchObject({ code: "unsafe-path" });
      expect(readdirSync(elsewhere)).toEqual([]);
      expect(readdirSync(dir)).toEqual(["servers"]);
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });

  test("a write that fails leaves the old tree", async () => {
    await writeGenerated(dir, plan.files);
    const before = snapshot();
    const next = await planGeneration({ listings: [listingOf([{ name: "b" }], "three")] });
    // A lone commit folder with something else in it stands in the way of the rename that decides the write.
    mkdirSync(join(dir, ".ptc-commit/other"), { recursive: true });
    await expect(writeGenerated(dir, next.files)).rejects.toMatchObject({ code: "write-failed" });
    rmSync(join(dir, ".ptc-commit"), { recursive: true });
    expect(snapshot()).toEqual(before);
  });

  test("a write interrupted after it was decided is finished by the next reader", async () => {
    await writeGenerated(dir, plan.files);
    const next = await planGeneration({ listings: [listingOf([{ name: "b" }], "three")] });
    const commit = join(dir, ".ptc-commit");
    mkdirSync(commit);
    const paths = [...next.files.keys()];
    const journal = {
      write: paths.map((path, i) => ({ staged: String(i), path })),
      remove: ["servers/one/index.ts", "servers/two/index.ts"],
    };
    writeFileSync(join(commit, "journal.json"), JSON.stringify(journal));
    paths.forEach((path, i) => {
      // The first file had already been put in its place.
      if (i === 0) mkdirSync(join(dir, "servers/three"));
      writeFileSync(i === 0 ? join(dir, path) : join(commit, String(i)), next.files.get(path) ?? "");
    });
    expect(await readCatalog(dir)).toEqual({ catalog: next.catalog, lock: next.lock });
    expect(snapshot()).toEqual(new Map([...next.files].sort()));
  });

  test("a journal that names a path outside is not carried out", async () => {
    mkdirSync(join(dir, ".ptc-commit"));
    writeFileSync(join(dir, ".ptc-commit/0"), "evil");
    const journal = { write: [{ staged: "0", path: "../evil.ts" }], remove: [] };
    writeFileSync(join(dir, ".ptc-commit/journal.json"), JSON.stringify(journal));
    await expect(readCatalog(dir)).rejects.toMatchObject({ code: "write-failed" });
    expect(existsSync(join(dir, "../evil.ts"))).toBe(false);
  });

  test.each<[string, (text: string) => string]>([
    ["no JSON", () => "{"],
    ["another shape", () => '{"version":1,"servers":{}}'],
    ["another version", (text) => text.replace('"version": 1', '"version": 2')],
    ["an identifier that is code", (text) => text.replace('"identifier": "a"', '"identifier": "a();"')],
    ["a key that ptc does not write", (text) => text.replace('"name": "a"', '"name": "a", "more": 1')],
    ["a key that stands twice", (text) => text.replace('"name": "a"', '"name": "a", "name": "a"')],
    ["a number beyond all", (text) => text.replace('"inputSchema": {}', '"inputSchema": {"maximum": 1e400}')],
    [
      "nesting without end",
      (text) =>
        text.replace('"inputSchema": {}', `"inputSchema": ${"[".repeat(100_000)}${"]".repeat(100_000)}`),
    ],
  ])("a catalog that is %s is one clear line", async (_what, change) => {
    await writeGenerated(dir, plan.files);
    const path = join(dir, "catalog.json");
    writeFileSync(path, change(readFileSync(path, "utf8")));
    const error = await readCatalog(dir).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ name: "CatalogError", code: "broken" });
    expect((error as Error).message).toMatch(/catalog\.json.*run `ptc generate`$/);
    expect((error as Error).message).not.toContain("\n");
  });

  test.each([
    ["[]", "is not what ptc writes: run"],
    ['{"version":2,"servers":[]}', "is not what ptc writes (at 'version'): run"],
    ['{"version":1,"servers":[{"name":1}]}', "is not what ptc writes (at 'servers.0.name'): run"],
    ["{", "is not JSON: run"],
  ])("a catalog is broken at a place, if it is one of JSON: %s", async (text, problem) => {
    await writeGenerated(dir, plan.files);
    writeFileSync(join(dir, "catalog.json"), text);
    await expect(readCatalog(dir)).rejects.toThrow(`${join(dir, "catalog.json")} ${problem}`);
  });

  test("a lock that is missing beside a catalog is named", async () => {
    await writeGenerated(dir, plan.files);
    rmSync(join(dir, "ptc.lock.json"));
    await expect(readCatalog(dir)).rejects.toThrow(/ptc\.lock\.json is missing: run `ptc generate`/);
  });

  test("of definitions too large to be read again, the largest are left out, and nothing else", async () => {
    const description = "x".repeat(4_000_000);
    const tools = Array.from({ length: 35 }, (_, i) => ({ name: `t${i}`, description }));
    const listings = [listingOf([...tools, { name: "b" }], "large"), listingOf([{ name: "a" }], "small")];
    const { catalog, files, warnings, lock } = await planGeneration({ listings });
    expect(catalog.servers.map(({ name, tools: kept }) => [name, kept.at(0)?.name])).toEqual([
      ["large", "b"],
      ["small", "a"],
    ]);
    const left = warnings.filter(({ message }) => message.startsWith("is left out"));
    const kept = catalog.servers[0]?.tools.map(({ name }) => name) ?? [];
    expect(kept.length + left.length).toBe(36);
    expect([...(lock.servers.get("large")?.tools.keys() ?? [])]).toEqual(kept);
    for (const { tool } of left) expect(files.get("servers/large/index.ts")).not.toContain(`__${tool}"`);
    await writeGenerated(dir, files);
    expect((await readCatalog(dir))?.catalog.servers).toHaveLength(2);
  });

  test("a catalog too large to be one is not read", async () => {
    await writeGenerated(dir, plan.files);
    truncateSync(join(dir, "catalog.json"), 2 ** 30);
    await expect(readCatalog(dir)).rejects.toMatchObject({ code: "too-large" });
  });
});

function snapshot(): Map<string, string> {
  const paths = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();
  return new Map(paths.map((path) => [path, readFileSync(join(dir, path), "utf8")]));
}
