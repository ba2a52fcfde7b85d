import { join } from "node:path";
import { expect, test } from "vitest";
import { ProcessEngine } from "../../runner-image/process-engine.ts";
import { usePtcWithoutWalls, userProject } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";
import { FakeTerminal } from "../terminal/terminals.ts";

/** An engine with gVisor and every image. */
class WholeEngine extends ProcessEngine {
  override describe = async () => ({
    ...{ version: "1", identity: "processes", profile: "none", endpoint: "here" },
    runtimes: new Map(this.hasRuntime ? [["runsc", { path: "/nowhere/runsc" }]] : []),
  });
  hasRuntime = true;
}

const engine = new WholeEngine();
usePtcWithoutWalls(engine);

/** A folder where Claude Code has these servers. */
function projectWith(mcpServers: Record<string, object>, files: Record<string, string> = {}) {
  const project = userProject({ ".mcp.json": JSON.stringify({ mcpServers }), ...files });
  Object.assign(project.env, { PTC_HOST: "off", XDG_STATE_HOME: `${project.home}/state` });
  return project;
}

const { command, args } = fixtureServer("x", "reads-audit.mjs");
const READS = { command, args };
const BROKEN = { command, args: [join("/nowhere", "server.mjs")] };

/** The state of each step. */
const statesOf = (stdout: string) =>
  [...stdout.matchAll(/^\d\/6 {2}(\w+) +(done before|done|left out|to do|failed|blocked): /gm)].map(
    ([, step, state]) => `${step} ${state}`,
  );

test("without a terminal nothing is done, and what is left to do is printed", async () => {
  const project = projectWith({ docs: READS });
  const before = project.read(".mcp.json");
  const { code, stdout } = await project.ptc("up");
  expect(code).toBe(2);
  expect(statesOf(stdout)).toEqual([
    ...["sandbox done before", "image done before", "servers to do"],
    ...["modules to do", "client to do", "program to do"],
  ]);
  expect(stdout).toMatch(/servers of the clients on this machine \(docs\)\n/);
  expect(stdout).toMatch(/`ptc up --yes` does these steps\.\n$/);
  expect(project.has("ptc.yaml")).toBe(false);
  expect(project.read(".mcp.json")).toBe(before);
});

test("with --yes every step is done up to a first program, and a second time there is nothing to do", async () => {
  const project = projectWith({ docs: READS, gone: BROKEN });
  const first = await project.ptc("up", "--yes");
  expect(statesOf(first.stdout)).toEqual([
    ...["sandbox done before", "image done before", "servers done"],
    ...["modules done", "client done", "program done"],
  ]);
  expect(first.stdout).toMatch(/modules +done: generated\/ has 1 server; server 'gone' did not start: /);
  expect(first.stdout).toMatch(/"result":\{"ok":true,"data":".*failed: ToolError: /);
  expect(first.code).toBe(0);
  const files = ["ptc.yaml", ".mcp.json", "generated/catalog.json"].map((name) => project.read(name));
  const second = await project.ptc("up", "--yes");
  expect(statesOf(second.stdout)).toEqual(
    ["sandbox", "image", "servers", "modules", "client", "program"].map((step) => `${step} done before`),
  );
  expect(["ptc.yaml", ".mcp.json", "generated/catalog.json"].map((name) => project.read(name))).toEqual(
    files,
  );
  const told = await project.ptc("up", "--json");
  expect(JSON.parse(told.stdout)).toMatchObject({ ok: true, steps: { length: 6 } });
});

test("where no sandbox can run, what to do and what works all the same is said, and the next run goes on", async () => {
  const project = projectWith({ docs: READS });
  engine.hasRuntime = false;
  const blocked = await project.ptc("up", "--yes");
  engine.hasRuntime = true;
  expect(blocked.code).toBe(3);
  expect(statesOf(blocked.stdout)).toEqual(["sandbox blocked"]);
  expect(blocked.stdout).toMatch(
    /has no runtime 'runsc'.*`PTC_ENGINE=wasm ptc up`.*Without a sandbox .*`ptc call` work all the same/,
  );
  expect(blocked.stdout).toMatch(/`ptc up` goes on from there when you run it again\.\n$/);
  expect(project.has("ptc.yaml")).toBe(false);
});

test.each<[string, Record<string, string>, RegExp]>([
  ["no client has servers", {}, /no client on this machine has servers .*`ptc add NAME -- COMMAND`/],
  ["ptc.yaml names none", { "ptc.yaml": "servers: []\n" }, /ptc\.yaml names no servers; .*`ptc add NAME/],
])("where %s, how to name one is said", async (_, files, detail) => {
  const { code, stdout } = await projectWith({}, files).ptc("up", "--yes");
  expect(code).toBe(2);
  expect(statesOf(stdout).at(-1)).toBe("servers blocked");
  expect(stdout).toMatch(detail);
});

test("a client that has something else under ptc's name keeps it, and the first program runs all the same", async () => {
  const servers = JSON.stringify({ servers: [{ name: "docs", ...READS }] });
  const project = projectWith({ ptc: BROKEN }, { "ptc.yaml": servers });
  const { code, stdout } = await project.ptc("up", "--yes");
  expect(code).toBe(2);
  expect(statesOf(stdout).slice(-2)).toEqual(["client blocked", "program done"]);
  expect(stdout).toMatch(/has a server 'ptc' that is not ptc, and was left alone/);
});

test("on a terminal each step is asked for, and after a no it goes on there the next time", async () => {
  const project = projectWith({ docs: READS });
  const ask = async (answers: [RegExp, string][]) => {
    const terminal = new FakeTerminal();
    const ended = project.atTerminal(terminal, "up");
    for (const [question, answer] of answers) {
      await terminal.shows(question);
      terminal.type(answer);
    }
    return ended;
  };
  const write = /Write ptc\.yaml with servers .*\(docs\)\? \[Y\/n\]: $/;
  const refused = await ask([[write, "n\r"]]);
  expect([refused.code, statesOf(refused.stdout).at(-1)]).toEqual([1, "servers left out"]);
  expect(project.has("ptc.yaml")).toBe(false);
  const agreed = await ask([
    [write, "\r"],
    [/\[all\]: $/, "\r"],
    [/Take them out\? .*\[y\/N\]: $/, "n\r"],
    [/write typed modules of its tools\? \[Y\/n\]: $/, "y\r"],
    [/Write ptc into the configuration of Claude Code \(\.mcp\.json\)\? \[Y\/n\]: $/, "n\r"],
    [/Run a first program\? \[Y\/n\]: $/, "\r"],
  ]);
  expect(statesOf(agreed.stdout).slice(2)).toEqual([
    ...["servers done", "modules done", "client left out", "program done"],
  ]);
  expect(agreed.code).toBe(0);
  expect(project.read(".mcp.json")).not.toContain('"ptc"');
});

test("where there is no gVisor a person may choose the weaker wall", async () => {
  const project = projectWith({ docs: READS });
  const terminal = new FakeTerminal();
  engine.hasRuntime = false;
  const ended = project.atTerminal(terminal, "up");
  await terminal.shows(/There is no gVisor here .*a weaker wall, .* ask you first\? \[Y\/n\]: $/s);
  // The engine of this test stands for every engine.
  engine.hasRuntime = true;
  terminal.type("y\r");
  await terminal.shows(/Build the image .*\? \[Y\/n\]: $/s);
  terminal.type("n\r");
  const { stdout } = await ended;
  expect(statesOf(stdout)).toEqual(["sandbox done", "image left out"]);
});

test("an unknown client is refused before anything is done", async () => {
  const project = projectWith({ docs: READS });
  expect(await project.ptc("up", "--yes", "--client", "nobody")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^ptc: --client: 'nobody' is not one of claude, /),
  });
});
