import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fixtureServer, usePtc } from "../ptc-process.ts";

const project = usePtc();

describe("ptc generate", () => {
  const tool = { name: "get_row", description: "Gets a row.", inputSchema: { type: "object" } };

  function withTools(tools: object[]) {
    const folder = project({ "tools.json": tools });
    const server = fixtureServer("my-rows", "tools-from-file.mjs", [join(folder.directory, "tools.json")]);
    folder.write("ptc.yaml", { servers: [server] });
    return folder;
  }

  test("writes modules, catalog and lock, the same bytes every time", async () => {
    const folder = withTools([tool]);
    await folder.generate();
    const paths = ["servers/my_rows/index.ts", "catalog.json", "ptc.lock.json"].map(
      (path) => `generated/${path}`,
    );
    const first = paths.map((path) => folder.read(path));
    expect(first[0]).toContain("getRow = tool<");
    expect(first[0]).toContain('"mcp__my_rows__get_row"');
    await folder.generate();
    expect(paths.map((path) => folder.read(path))).toEqual(first);
    expect(folder.state()).toEqual([]);
  });

  test("--check writes nothing, and exits 4 with what has changed", async () => {
    const folder = withTools([tool]);
    await folder.generate();
    expect(await folder.ptc(["generate", "--check"])).toMatchObject({ code: 0, stdout: "" });
    folder.write("tools.json", [
      { ...tool, description: "Gets two rows." },
      { ...tool, name: "put_row" },
    ]);
    const before = folder.read("generated/ptc.lock.json");
    const { code, stdout } = await folder.ptc(["generate", "--check"]);
    expect(code).toBe(4);
    for (const text of ["my-rows", "get_row", "Gets two rows.", "put_row"]) expect(stdout).toContain(text);
    expect(folder.read("generated/ptc.lock.json")).toBe(before);
    const json = await folder.ptc(["generate", "--check", "--json"]);
    expect(json.code).toBe(4);
    expect(JSON.parse(json.stdout)).toMatchObject({ failures: [], drift: [{}] });
  });

  test("--check notices files that were edited", async () => {
    const folder = withTools([tool]);
    await folder.generate();
    folder.write("generated/servers/my_rows/index.ts", "export {};\n");
    const { code, stdout } = await folder.ptc(["generate", "--check"]);
    expect(code).toBe(4);
    expect(stdout).toContain("servers/my_rows/index.ts");
  });

  test("--json says what was written", async () => {
    const { code, stdout, stderr } = await withTools([tool]).ptc(["generate", "--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      servers: [{ name: "my-rows", tools: 1, module: "servers/my_rows/index.ts" }],
      written: expect.arrayContaining(["servers/my_rows/index.ts", "catalog.json", "ptc.lock.json"]),
      removed: [],
    });
  });

  test("--out names another folder", async () => {
    const folder = withTools([tool]);
    expect(await folder.ptc(["generate", "--out", "elsewhere"])).toMatchObject({ code: 0 });
    expect(readdirSync(join(folder.directory, "elsewhere"))).toContain("catalog.json");
    expect(existsSync(join(folder.directory, "generated"))).toBe(false);
  });

  test("keeps the modules of a server that fails, with a warning, and does the others", async () => {
    const folder = withTools([tool]);
    await folder.generate();
    const kept = folder.read("generated/servers/my_rows/index.ts");
    folder.write("ptc.yaml", {
      servers: [fixtureServer("my-rows", "exits-at-once.mjs"), fixtureServer("other", "echo-v1.mjs")],
    });
    const { code, stdout, stderr } = await folder.ptc(["generate"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ptc: warning: .*my-rows.*last modules are kept$/m);
    expect(stdout).toMatch(/my_rows.*index\.ts {2}\(kept: it could not be listed\)$/m);
    expect(stdout).toMatch(
      /^1 of 2 servers listed, \d tools?; failed: my-rows \(cannot be started or reached\)$/m,
    );
    expect(folder.read("generated/servers/my_rows/index.ts")).toBe(kept);
    expect(folder.read("generated/servers/other/index.ts")).toContain("echo");
  });

  test.each([
    ["does not start", { name: "x", command: "no-such-command-here" }, /no-such-command-here/],
    ["ends at once", fixtureServer("x", "exits-at-once.mjs"), /'x'/],
    ["answers garbage", fixtureServer("x", "garbage.mjs"), /'x'/],
    ["refuses", fixtureServer("x", "refuses-initialize.mjs"), /'x'/],
  ])("exits 1 with one warning for a new server that %s", async (_, server, message) => {
    const folder = project({ "ptc.yaml": { servers: [server] } });
    const { code, stdout, stderr } = await folder.ptc(["generate"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^no server could be listed: x \([^)]+\)\n$/);
    expect(stderr).toMatch(message);
    // A server that says nothing for a while is waited for, and that is said before.
    const warnings = stderr.split("\n").filter((line) => line !== "" && !line.includes("is still starting"));
    expect(warnings).toHaveLength(1);
    expect(folder.state()).toEqual([]);
  });

  test("waits no longer for a server that hangs than it is told, and says how to tell it", async () => {
    const hangs = { ...fixtureServer("hangs", "never-answers.mjs"), connect_timeout_seconds: 1 };
    const lists = { ...fixtureServer("lists-nothing", "never-lists.mjs"), connect_timeout_seconds: 3 };
    const folder = project({ "ptc.yaml": { servers: [hangs, lists] } });
    const { code, stdout, stderr } = await folder.ptc(["generate"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^no server could be listed: (?:(?:hangs|lists-nothing) \(timed out\)(?:, |\n)){2}$/,
    );
    expect(stderr).toMatch(/'hangs' did not complete the MCP handshake within 1 s.*connect_timeout_seconds/);
    expect(stderr).toMatch(/'lists-nothing' did not answer tools\/list within 3 s; connect_timeout_seconds/);
    const checked = await folder.ptc(["generate", "--check", "--json"]);
    expect(JSON.parse(checked.stdout)).toMatchObject({ failures: [{ kept: false }, { kept: false }] });
  });

  test("refuses a name that is no server's", async () => {
    const { code, stderr } = await withTools([tool]).ptc(["generate", "nobody"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/no server 'nobody' .*my-rows/);
  });
});
