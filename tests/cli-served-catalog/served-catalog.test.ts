import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { UpstreamListing } from "../../broker/upstream.ts";
import { loadConfiguration } from "../../cli/configuration/load.ts";
import { ServedCatalog } from "../../cli/served-catalog.ts";

const MODULE = "generated/servers/x/index.ts";

async function newFolder() {
  const directory = mkdtempSync(join(tmpdir(), "ptc-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const servers = ["x", "y"].map((name) => ({ name, transport: "stdio", command: "true" }));
  writeFileSync(join(directory, "ptc.yaml"), JSON.stringify({ servers }));
  const configuration = await loadConfiguration({ flag: undefined, env: {}, cwd: directory });
  const newCatalog = () => {
    const warnings: string[] = [];
    const catalog = new ServedCatalog({ configuration, onWarning: (message) => warnings.push(message) });
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
  return (await catalog.current()).directory.find("mcp__x__tool_0")?.description;
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

  it("takes in only the last of the listings that come while it writes", async () => {
    const { catalog } = (await newFolder()).newCatalog();
    await catalog.current();
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
      await catalog.current();
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
    const { modules } = await catalog.forProgram();
    expect(await modules.load("x")).toBe(text);
    await catalog.forProgram();
    expect(warnings).toEqual([
      "the module of server 'x' was missing or had been changed, and has been written again",
    ]);
  });

  it("that cannot be written again are told of in one line", async () => {
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
