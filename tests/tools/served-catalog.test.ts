import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { buildAuthorizer } from "../../configuration/policy/configured-policy.ts";
import { ServedCatalog } from "../../tools/served-catalog.ts";
import type { UpstreamListing } from "../../upstream/upstream.ts";

const VIEWER = { principal: "local" };
const MODULE = "generated/servers/x/index.ts";

async function newFolder() {
  const directory = mkdtempSync(join(tmpdir(), "ptc-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const servers = ["x", "y"].map((name) => ({ name, transport: "stdio", command: "true" }));
  writeFileSync(join(directory, "ptc.yaml"), JSON.stringify({ servers }));
  const configuration = await loadConfiguration({ flag: undefined, env: {}, cwd: directory });
  const authorizer = await buildAuthorizer(configuration);
  const newCatalog = () => {
    const warnings: string[] = [];
    const catalog = new ServedCatalog({
      configuration,
      authorizer,
      onWarning: (message) => warnings.push(message),
    });
    return { catalog, warnings };
  };
  return { path: (name: string) => join(directory, name), newCatalog };
}

function listing(...descriptions: string[]): UpstreamListing {
  return {
    implementation: { name: "x", version: "1" },
    protocolVersion: "2025-11-25",
    tools: descriptions.map((description, i) => ({
      name: `tool_${i}`,
      description,
      inputSchema: { type: "object", properties: { text: { type: "string" } } },
    })),
  };
}

async function descriptionOf(catalog: ServedCatalog): Promise<string | undefined> {
  return (await catalog.current(VIEWER)).find("mcp__x__tool_0")?.description;
}

describe("the catalog of a ptc that serves", () => {
  it("answers with what it has while modules are being written", async () => {
    const { catalog } = (await newFolder()).newCatalog();
    await catalog.absorb("x", listing("old"));
    const order: string[] = [];
    const absorbed = catalog.absorb("x", listing("new")).then(() => order.push("absorbed"));
    expect(await descriptionOf(catalog)).toBe("old");
    order.push("answered");
    await absorbed;
    expect(order).toEqual(["answered", "absorbed"]);
    expect(await descriptionOf(catalog)).toBe("new");
  });

  it("has a program wait for a server that has just listed its tools for the first time", async () => {
    const { catalog } = (await newFolder()).newCatalog();
    expect((await catalog.current(VIEWER)).names()).toEqual([]);
    const absorbed = catalog.absorb("x", listing("new"));
    expect((await catalog.current(VIEWER)).names()).toEqual([]);
    expect((await catalog.forProgram()).callableFor(VIEWER).names()).toEqual(["mcp__x__tool_0"]);
    await absorbed;
  });

  it("warns of what could not be read of a listing, on one line", async () => {
    const { catalog, warnings } = (await newFolder()).newCatalog();
    const problems = [{ tool: "go\nwarning: forged", message: "has a schema that holds too much" }];
    await catalog.absorb("x", { ...listing("a"), problems });
    expect(warnings).toEqual(["server 'x': go warning: forged has a schema that holds too much"]);
  });

  it("takes in only the last of the listings that come while it writes", async () => {
    const { catalog } = (await newFolder()).newCatalog();
    await catalog.current(VIEWER);
    const [first, ...rest] = ["1", "2", "3", "4"].map((text) => catalog.absorb("x", listing(text)));
    await first;
    expect(await descriptionOf(catalog)).toBe("4");
    await Promise.all(rest);
    expect(await descriptionOf(catalog)).toBe("4");
  });

  it("knows of which server another process has written modules since it took in what that lists", async () => {
    const { newCatalog } = await newFolder();
    const { catalog: ours } = newCatalog();
    const { catalog: theirs } = newCatalog();
    const known = async (catalog: ServedCatalog) => {
      await catalog.current(VIEWER);
      return ["x", "y"].filter((name) => catalog.isSuperseded(name));
    };
    await ours.absorb("x", listing("old"));
    await ours.absorb("y", listing("same"));
    await theirs.absorb("x", listing("new"));
    expect({ ours: await known(ours), theirs: await known(theirs) }).toEqual({ ours: ["x"], theirs: [] });
    // That this process writes something else meanwhile changes nothing.
    await theirs.absorb("x", listing("newer"));
    await ours.absorb("y", listing("other"));
    expect(await known(ours)).toEqual(["x"]);
    await ours.absorb("x", listing("old"));
    expect({ ours: await known(ours), theirs: await known(theirs) }).toEqual({
      ours: [],
      theirs: ["x", "y"],
    });
  });
});

describe("modules for a program", () => {
  it.each<[string, (path: (name: string) => string) => void]>([
    ["is missing", (path) => rmSync(path(MODULE))],
    ["is missing with its folder", (path) => rmSync(path("generated/servers"), { recursive: true })],
    ["was edited", (path) => writeFileSync(path(MODULE), "export const = broken;\n")],
  ])("are written again from what was listed last when one %s", async (_what, damage) => {
    const { path, newCatalog } = await newFolder();
    const { catalog, warnings } = newCatalog();
    await catalog.absorb("x", listing("as it was"));
    const text = readFileSync(path(MODULE), "utf8");
    await catalog.forProgram();
    damage(path);
    const modules = (await catalog.forProgram()).modulesFor(VIEWER, PRINTER);
    expect((await modules.load("x"))?.text).toBe(text);
    await catalog.forProgram();
    expect(warnings).toEqual([
      "the module of server 'x' was missing or had been changed, and has been written again",
    ]);
  });

  it("that cannot be written again are reported in one line", async () => {
    const { path, newCatalog } = await newFolder();
    const { catalog, warnings } = newCatalog();
    await catalog.absorb("x", listing("one"));
    rmSync(path("generated/servers"), { recursive: true });
    writeFileSync(path("generated/servers"), "in the way");
    await catalog.forProgram();
    expect(warnings).toEqual([
      expect.stringMatching(/^the module of server 'x' is missing .*is not a folder/),
    ]);
    expect(existsSync(path(MODULE))).toBe(false);
  });
});

describe("a catalog that is edited while it is served", () => {
  const edit = (path: string, change: (text: string) => string) =>
    writeFileSync(path, change(readFileSync(path, "utf8")));

  it.each<[string, string, (text: string) => string]>([
    ["a definition", "generated/catalog.json", (text) => text.replace("as it was", "edited")],
    ["a digest", "generated/ptc.lock.json", (text) => text.replace(/("tool_0"[^}]*sha256:)\w/, "$1x")],
    ["a digest that is one", "generated/ptc.lock.json", swapDigests],
    ["all of it", "generated/catalog.json", () => "{"],
  ])("is served as it was known, with a warning, where %s is", async (_what, file, change) => {
    const { path, newCatalog } = await newFolder();
    const { catalog, warnings } = newCatalog();
    await catalog.absorb("x", listing("as it was", "and this"));
    await catalog.current(VIEWER);
    edit(path(file), change);
    expect(await descriptionOf(catalog)).toBe("as it was");
    const { all } = await catalog.forProgram();
    expect(all.names()).toEqual(["mcp__x__tool_0", "mcp__x__tool_1"]);
    expect(warnings).toEqual([expect.stringMatching(/(?:catalog|ptc\.lock)\.json .*run `ptc generate`$/)]);
  });

  it("is written again where it was known", async () => {
    const { path, newCatalog } = await newFolder();
    const { catalog } = newCatalog();
    await catalog.absorb("x", listing("as it was"));
    await catalog.current(VIEWER);
    const before = readFileSync(path("generated/catalog.json"), "utf8");
    edit(path("generated/catalog.json"), (text) => text.replace("as it was", "edited"));
    await catalog.current(VIEWER);
    expect(readFileSync(path("generated/catalog.json"), "utf8")).toBe(before);
  });

  it("has its servers listed anew where they were not known yet", async () => {
    const { path, newCatalog } = await newFolder();
    await newCatalog().catalog.absorb("x", listing("as it was"));
    edit(path("generated/catalog.json"), (text) => text.replace("as it was", "edited"));
    const { catalog, warnings } = newCatalog();
    expect(await catalog.unknownServers()).toEqual(["x", "y"]);
    expect((await catalog.current(VIEWER)).unlisted.get("x")).toContain("edited");
    expect(warnings).toHaveLength(1);
    await catalog.absorb("x", listing("as it was"));
    expect(await descriptionOf(catalog)).toBe("as it was");
    expect(await catalog.unknownServers()).toEqual(["y"]);
  });
});

/** The lock with the digests of the first two tools swapped. */
function swapDigests(text: string): string {
  const [first = "", second = ""] = [...text.matchAll(/"tool_\d"[^}]*(sha256:\w+)/g)].map(
    ([, digest]) => digest,
  );
  return text.replace(first, "FIRST").replace(second, first).replace("FIRST", second);
}
