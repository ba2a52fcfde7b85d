import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { readModule } from "../../../codegen/typescript/read-module.ts";
import { TYPESCRIPT_PRINTER as PRINTER } from "../../../codegen/typescript/typescript-printer.ts";
import { GeneratedModules } from "../../../generation/generated-modules.ts";
import { textDigest } from "../../../protocol/canonical-json.ts";
import { generateModule } from "../../codegen/list-tools.ts";
import { eventually } from "../../eventually.ts";
import { fixtureServer, type PtcProcess, usePtc } from "../ptc-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const MODULE = "generated/servers/following/index.ts";

/** A folder whose server has the tools that `tools.txt` names, and ptc watching it. */
async function watch() {
  const folder = project({ "tools.txt": "first" });
  const server = fixtureServer("following", "follows-file.mjs", [`${folder.directory}/tools.txt`]);
  folder.write("ptc.yaml", { servers: [server] });
  const ptc = folder.start(["generate", "--watch"]);
  await ptc.printed(/watching for changed tools/);
  const tools = () => [...folder.read(MODULE).matchAll(/^export const (\w+)/gm)].map(([, name]) => name);
  const becomes = (names: string[]) => eventually(() => expect(tools()).toEqual(names));
  return { folder, ptc, becomes, server: server.args.at(-1) ?? "" };
}

async function interrupt(ptc: PtcProcess) {
  ptc.kill("SIGINT");
  return ptc.exited;
}

/** Processes that were started with this argument. */
function processesOf(argument: string): string {
  return spawnSync("pgrep", ["-f", "--", `follows-file.mjs ${argument}`], { encoding: "utf8" }).stdout;
}

describe("ptc generate --watch", () => {
  test("writes modules anew whenever a server says that its tools have changed, until it is interrupted", async () => {
    const { folder, ptc, becomes, server } = await watch();
    await becomes(["first"]);
    folder.write("tools.txt", "first second");
    await becomes(["first", "second"]);
    folder.write("tools.txt", "second third");
    await becomes(["second", "third"]);
    expect(processesOf(server)).not.toBe("");
    const { code, stdout } = await interrupt(ptc);
    expect(code).toBe(0);
    // A server may announce a change in steps, each of which may be seen.
    expect(stdout.match(/^following +\d tools? /gm)?.length).toBeGreaterThanOrEqual(3);
    expect(processesOf(server)).toBe("");
    expect(folder.state()).toEqual([]);
    expect(await folder.ptc(["generate", "--check"])).toMatchObject({ code: 0, stdout: "" });
  });

  test("keeps the modules of a server that dies, says so once, and follows it again when it is back", async () => {
    const { folder, ptc, becomes } = await watch();
    folder.write("tools.txt", "die");
    await ptc.printed(/warning: .*'following'.*; its last modules are kept/);
    await becomes(["first"]);
    folder.write("tools.txt", "first again");
    await becomes(["again", "first"]);
    folder.write("tools.txt", "last");
    await becomes(["last"]);
    const { code, stderr } = await interrupt(ptc);
    expect(code).toBe(0);
    expect(stderr.match(/its last modules are kept/g)).toHaveLength(1);
    expect(folder.state()).toEqual([]);
  });

  test("ends at once when it is interrupted while a server does not answer", async () => {
    const folder = project({ "ptc.yaml": { servers: [fixtureServer("silent", "never-answers.mjs")] } });
    const ptc = folder.start(["generate", "--watch"]);
    await eventually(() => expect(folder.state()).not.toEqual([]));
    expect((await interrupt(ptc)).code).toBe(0);
    expect(folder.state()).toEqual([]);
  });
});

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
    ["answers garbage", { ...fixtureServer("x", "garbage.mjs"), connect_timeout_seconds: 2 }, /'x'/],
    ["refuses", fixtureServer("x", "refuses-initialize.mjs"), /'x'/],
  ])("exits 1 with one warning for a new server that %s", async (_, server, message) => {
    const folder = project({ "ptc.yaml": { servers: [server] } });
    const { code, stdout, stderr } = await folder.ptc(["generate"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^no server could be listed: x \([^)]+\)\n$/);
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
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

const folder = mkdtempSync(join(tmpdir(), "ptc-modules-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("the texts of modules say which tools the policy keeps from programs, and nothing else changes", async () => {
  const tools = ["read", "write-all"].map((name) => ({ name, inputSchema: { type: "object" } }));
  const { text } = await generateModule(tools);
  mkdirSync(join(folder, "servers", "demo"), { recursive: true });
  writeFileSync(join(folder, "servers", "demo", "index.ts"), text);
  const load = (...callable: string[]) =>
    new GeneratedModules(folder, new Map([["demo", textDigest(text)]]), new Set(callable), PRINTER).load(
      "demo",
    );

  expect(await load("mcp__demo__read", "mcp__demo__write-all")).toMatchObject({ text, archived: text });
  const { tools: declared = [], archived = "" } = (await load("mcp__demo__read")) ?? {};
  const expected = [
    ["mcp__demo__read", true],
    ["mcp__demo__write-all", false],
  ];
  expect(declared.map((tool) => [tool.namespacedName, tool.isAvailable])).toEqual(expected);
  expect(readModule("demo", archived).tools.map((tool) => [tool.namespacedName, tool.isAvailable])).toEqual(
    expected,
  );
  expect(archived.replace(" // not available", "")).toBe(text);
});

const newProject = usePtc();

describe.skipIf(!hasPython)(`ptc generate on a real terminal${WITHOUT_PYTHON}`, () => {
  const project = (hangsForSeconds: number) =>
    newProject({
      "ptc.yaml": {
        servers: [
          { ...fixtureServer("hangs", "never-answers.mjs"), connect_timeout_seconds: hangsForSeconds },
          fixtureServer("echoes", "echo-v1.mjs"),
          fixtureServer("ends", "exits-at-once.mjs"),
        ],
      },
    });
  /** What the screen showed, with `<clear>` for the sequence that clears a line. */
  const generate = async (hangsForSeconds: number, steps: [string, string][], CI?: string) =>
    (await onTerminal(project(hangsForSeconds), steps, ["generate"], { CI })).replaceAll(
      "\r\u001b[K",
      "<clear>",
    );

  test("shows which servers it waits for, and leaves nothing of that", async () => {
    const screen = await generate(2, []);
    expect(screen).toContain("<clear>ptc: 0 done, 0 s; listing hangs, echoes, ends<clear>");
    const left = screen.slice(screen.indexOf("<clear>ptc: warning: ") + "<clear>".length);
    expect(left).not.toContain("<clear>");
    expect(left).toContain("1 of 3 servers listed");
  });

  test("shows a line for each in CI", async () => {
    const screen = await generate(2, [], "true");
    expect(screen).not.toContain("<clear>");
    for (const line of ["listing 3 servers", "echoes: 2 tools", "ends: failed", "hangs: failed"])
      expect(screen.split("\n")).toContain(`ptc: ${line}`);
  });

  test("shows which have failed, and leaves nothing when it is interrupted", async () => {
    const screen = await generate(600, [["1 done, \\d+ s; listing hangs; failed: ends", "\u0003"]]);
    expect(screen).toMatch(/<clear>$/);
  });
});
