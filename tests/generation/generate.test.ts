import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadConfiguration } from "../../configuration/load.ts";
import { type GeneratorOptions, ModuleGenerator } from "../../generation/generate.ts";
import { GeneratedFolder } from "../../generation/generated-folder.ts";
import type { UpstreamListing } from "../../upstream/upstream.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";

const LISTING: UpstreamListing = {
  implementation: { name: "x", version: "1" },
  protocolVersion: "2025-11-25",
  tools: [{ name: "go", inputSchema: { type: "object" } }],
};

/** Two servers, `x` and `y`, that list what they are told to, or cannot be reached. */
async function newProject(extra: object = {}) {
  const directory = mkdtempSync(join(tmpdir(), "ptc-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const servers = ["x", "y"].map((name) => ({ name, transport: "stdio", command: "true" }));
  writeFileSync(join(directory, "ptc.yaml"), JSON.stringify({ servers, ...extra }));
  const configuration = await loadConfiguration({ flag: undefined, env: {}, cwd: directory });
  const listings: Record<string, UpstreamListing | undefined> = { x: LISTING, y: LISTING };
  const list = async (name: string) => {
    const listing = listings[name];
    if (listing === undefined) throw new UpstreamError("start_failed", `server '${name}' did not start`);
    return listing;
  };
  const upstreams = {
    get: (name: string) => ({ list: () => list(name) }),
  } as unknown as GeneratorOptions["upstreams"];
  const folder = new GeneratedFolder(configuration);
  const generator = (names = ["x", "y"]) => {
    const selected = configuration.servers.filter(({ name }) => names.includes(name));
    return new ModuleGenerator({ configuration, servers: selected, upstreams, folder });
  };
  return { listings, generator, path: (name: string) => join(folder.directory, name) };
}

const signal = new AbortController().signal;

describe("generating modules", () => {
  it("proposes, writes, and then has nothing to change", async () => {
    const { generator } = await newProject();
    const modules = generator();
    const first = await modules.propose(signal);
    expect(first.drift.map(({ server, change }) => [server, change])).toEqual([
      ["x", "added"],
      ["y", "added"],
    ]);
    expect(await modules.findStale(first)).toEqual([...first.plan.files.keys(), "../tsconfig.json"]);
    await modules.write(first);
    const second = await modules.propose(signal);
    expect({ drift: second.drift, stale: await modules.findStale(second) }).toEqual({ drift: [], stale: [] });
  });

  it("keeps the modules of a server that cannot be listed, and knows of which there are none", async () => {
    const { generator, listings, path } = await newProject();
    listings.y = undefined;
    const modules = generator();
    const first = await modules.propose(signal);
    expect(first.failures).toEqual([
      {
        server: "y",
        code: "start_failed",
        message: "server 'y' did not start",
        isKept: false,
        isNew: true,
        isOff: false,
      },
    ]);
    await modules.write(first);
    listings.x = undefined;
    const second = await modules.propose(signal);
    expect(second.failures.map(({ server, isKept, isNew }) => ({ server, isKept, isNew }))).toEqual([
      { server: "x", isKept: true, isNew: true },
      { server: "y", isKept: false, isNew: false },
    ]);
    const before = readFileSync(path("servers/x/index.ts"), "utf8");
    await modules.write(second);
    expect(readFileSync(path("servers/x/index.ts"), "utf8")).toBe(before);
  });

  it("leaves servers that it was not asked for as they were", async () => {
    const { generator, listings } = await newProject();
    const all = generator();
    await all.write(await all.propose(signal));
    listings.x = { ...LISTING, tools: [] };
    listings.y = { ...LISTING, tools: [] };
    const { drift } = await generator(["x"]).propose(signal);
    expect(drift.map(({ server, removed }) => [server, removed])).toEqual([["x", ["go"]]]);
  });

  it("tells of an edited entry whether it is mended now", async () => {
    const { generator, listings, path } = await newProject();
    const modules = generator();
    await modules.write(await modules.propose(signal));
    writeFileSync(
      path("catalog.json"),
      readFileSync(path("catalog.json"), "utf8").replaceAll('"type": "object"', '"type": "edited"'),
    );
    listings.y = undefined;
    const { damage } = await modules.propose(signal);
    expect(damage.map(({ problem, isMended }) => [problem.includes("'x'"), isMended])).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it("says what cannot be read without saying to do what it is doing, unless others would be lost", async () => {
    const { generator, path } = await newProject();
    const modules = generator();
    await modules.write(await modules.propose(signal));
    writeFileSync(path("catalog.json"), "{");
    expect((await modules.propose(signal)).damage).toEqual([
      { problem: `${path("catalog.json")} is not JSON`, isMended: true },
    ]);
    await expect(generator(["x"]).propose(signal)).rejects.toThrow(
      /catalog\.json is not JSON: run `ptc generate` for all servers$/,
    );
  });

  it("finds a pattern that guards nothing, but does not judge those for servers that it does not know", async () => {
    const { generator, listings } = await newProject({ tools: { block: ["mcp__x__gone", "mcp__y__gone"] } });
    listings.y = undefined;
    const modules = generator();
    expect(modules.findUnmatchedPattern(await modules.propose(signal))?.pattern).toBe("mcp__x__gone");
    listings.x = undefined;
    expect(modules.findUnmatchedPattern(await generator().propose(signal))).toBeUndefined();
  });
});
