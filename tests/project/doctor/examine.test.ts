import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { loadConfiguration } from "../../../configuration/load.ts";
import { UnlistedServers } from "../../../generation/unlisted-servers.ts";
import { examine, examineQuickly, type Finding } from "../../../project/doctor/examine.ts";
import { openKnownWalls, refuseBrokenWalls } from "../../../project/sandboxes/open-known-walls.ts";
import { imageOf } from "../../../project/sandboxes/project-image.ts";
import { makeArchive } from "../../archive/made-archives.ts";
import { folderOfTest } from "../../cli/in-process.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";

const ECHO = join(import.meta.dirname, "../../fixtures/servers/echo-v1.mjs");

const SERVER = { transport: "stdio", command: process.execPath, args: [ECHO] };

/** A folder with these files, in which ptc has its own folder. */
function folderWith(files: Record<string, string | object>) {
  const cwd = folderOfTest();
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true });
    writeFileSync(join(cwd, file), typeof content === "string" ? content : JSON.stringify(content));
  }
  return { cwd, env: { XDG_RUNTIME_DIR: join(cwd, "run"), HOME: cwd, XDG_STATE_HOME: join(cwd, "state") } };
}

/** What processes have left in a folder's run/. */
const leftIn = (cwd: string) =>
  readdirSync(join(cwd, "run")).flatMap((base) => readdirSync(join(cwd, "run", base)));

/** What is found with this configuration, and that nothing of it is left. */
async function find(
  configuration: string | object,
  engine = withRuntime(),
  files: Record<string, object> = {},
): Promise<Finding[]> {
  const { cwd, env } = folderWith({ "ptc.yaml": configuration, ...files });
  const findings: Finding[] = [];
  for await (const finding of examine({ env, cwd, principal: "local", engine: () => engine }))
    findings.push(finding);
  expect(leftIn(cwd)).toEqual([]);
  expect(engine.live.size).toBe(0);
  return findings;
}

function withRuntime(more: { problem?: string } = {}): InProcessEngine {
  const engine = new InProcessEngine();
  const describe = engine.describe;
  engine.describe = async () => ({
    ...(await describe()),
    runtimes: new Map([["runsc", { path: "/nowhere/runsc", ...more }]]),
  });
  return engine;
}

test("every part is tried, and a server that cannot be listed takes no other with it", async () => {
  const servers = [
    { ...SERVER, name: "x" },
    { name: "gone", transport: "stdio", command: "/nowhere/server" },
    { name: "off", transport: "stdio", command: "x", env: { KEY: "${UNSET_KEY}" } },
  ];
  const findings = await find({ servers });
  expect(findings.map(({ area, part, ok }) => [area, part, ok])).toEqual([
    ["ptc", "ptc", true],
    ["ptc", "node", true],
    ["configuration", "configuration", true],
    ["ptc", "archive", true],
    ["sandbox", "in-process", true],
    ["sandbox", "gvisor", true],
    ["sandbox", "image", true],
    ["sandbox", "sandbox", true],
    ["servers", "server x", true],
    ["servers", "server gone", false],
    ["servers", "server off", false],
  ]);
  expect(findings[1]?.detail).toBe(`${process.version}, ${process.execPath} (needed: ^22.13.0 || >=23.4.0)`);
  expect(findings[3]?.detail).toMatch(/archive\.db, made by the first run$/);
  expect(findings[2]?.detail).toBe("ptc.yaml, 3 servers, 1 of them off");
  expect(findings.at(-1)?.detail).toContain("server 'off' is off: UNSET_KEY is not set in the environment");
  expect(findings.at(-3)?.detail).toMatch(
    /^echo-v1 1\.2\.3, 2 tools, MCP [\d-]+, as a process of this machine, without a sandbox$/,
  );
});

test("packages for Python that the engine has none of are named as a note", async () => {
  const sandbox = { engine: "wasm", python_packages: ["numpy"] };
  const noted = async (settings: object) =>
    (await find({ servers: [], ...settings })).filter(({ part }) => part === "packages");
  expect(await noted({ languages: ["python"], sandbox })).toEqual([
    expect.objectContaining({ ok: true, note: true, detail: expect.stringContaining("none of them") }),
  ]);
  expect(await noted({ languages: ["python"], sandbox: { ...sandbox, engine: "docker" } })).toEqual([]);
  expect(await noted({ languages: ["typescript"], sandbox })).toEqual([]);
});

test("a command of tools.local that does not exist is reported, and so is a missing secret of one", async () => {
  const tool = { inputSchema: {}, command: ["true"] };
  const local = [
    { ...tool, name: "fine" },
    { ...tool, name: "gone", command: ["nowhere-at-all"] },
    { ...tool, name: "away", cwd: "/nowhere/at/all" },
    { ...tool, name: "plain", command: ["./ptc.yaml"] },
    { ...tool, name: "keyed", env: { KEY: { file: "none.txt" } } },
    { ...tool, name: "unset", command: ["${UNSET_COMMAND}"] },
  ];
  const findings = await find({ tools: { local } });
  const server = findings.findIndex(({ part }) => part === "server local");
  expect(findings[server]).toMatchObject({ ok: true });
  expect(findings.slice(server + 1).map(({ part, ok, detail }) => [part, ok, detail])).toEqual([
    ["tools.local gone", false, "there is no command `nowhere-at-all` on the PATH"],
    ["tools.local away", false, "there is no folder /nowhere/at/all to run in"],
    ["tools.local plain", false, "`./ptc.yaml` may not be executed"],
    [
      "tools.local keyed",
      false,
      expect.stringMatching(/^ptc\.yaml:1: tools\.local\[4\]\.env\.KEY: .*none\.txt/),
    ],
    ["tools.local unset", false, expect.stringMatching(/^is off: UNSET_COMMAND is not set/)],
  ]);
});

test("without a configuration the usual sandbox is tried, and of the sandbox nothing past what fails", async () => {
  const findings = await find("nonsense: 1", new InProcessEngine());
  expect(findings.map(({ part, ok }) => [part, ok])).toEqual([
    ["ptc", true],
    ["node", true],
    ["configuration", false],
    ["in-process", true],
    ["gvisor", false],
  ]);
  expect(findings.at(-1)?.detail).toBe("In-process has no runtime 'runsc'; give it one");
});

test("a sandbox is tried for the programs of every language, and one whose image cannot run them says what to do", async () => {
  const engine = withRuntime();
  const start = engine.start.bind(engine);
  engine.start = async (request, output) => {
    const started = await start(request, output);
    if (request.runner !== "python") return started;
    const connection = await started.connected;
    connection.destroy();
    return { ...started, exited: Promise.resolve({ code: 127 }) };
  };
  const findings = await find("servers: []\nlanguages: [typescript, python]", engine);
  expect(findings.slice(-2)).toMatchObject([
    { part: "sandbox", ok: true },
    {
      part: "sandbox (python)",
      ok: false,
      detail: "the image's base has nothing that runs python: run `ptc image build` without --base",
    },
  ]);
});

test("a runtime that lets no sandbox connect is reported, with what to write", async () => {
  const findings = await find("servers: []", withRuntime({ problem: "is set up wrongly; write this there" }));
  expect(findings.at(-1)).toMatchObject({
    part: "gvisor",
    ok: false,
    detail: "runtime 'runsc' is set up wrongly; write this there",
  });
});

test("a file of a secret that others may read is reported, and a secret that cannot be read is reported as its server's", async () => {
  const folder = folderOfTest();
  const file = join(folder, "token");
  writeFileSync(file, "a-token", { mode: 0o644 });
  const pin = join(folder, "pin");
  writeFileSync(pin, "123", { mode: 0o600 });
  const servers = [
    { ...SERVER, name: "x", env: { TOKEN: { file } } },
    { ...SERVER, name: "short", env: { PIN: { file: pin } } },
    { ...SERVER, name: "locked", env: { TOKEN: { command: [process.execPath, "-e", "process.exit(5)"] } } },
  ];
  const findings = await find({ servers });
  expect(findings.find(({ part }) => part === "secrets")?.detail).toBe(
    `${file}, which holds TOKEN of server 'x', may be read by others (mode 0644); run \`chmod 600\` on it`,
  );
  expect(findings.at(-4)).toMatchObject({ part: "server x", ok: true });
  const short = /^PIN of server 'short' has 3 characters, and values of fewer than \d are not redacted$/;
  const redaction = { area: "servers", part: "redaction", ok: true, note: true };
  expect(findings.at(-1)).toEqual({ ...redaction, detail: expect.stringMatching(short) });
  expect(findings.at(-2)).toMatchObject({
    part: "server locked",
    ok: false,
    detail: "server 'locked' is not started: ptc.yaml:1: servers[2].env.TOKEN: `node` exited with 5",
  });
});

test("an archive that cannot be written is a failure, and one that can is left as it is", async () => {
  const noDatabase = "no database, and longer than the head of one would be".repeat(10);
  const { cwd: folder } = folderWith({ "damaged.db": noDatabase, file: "" });
  makeArchive(join(folder, "whole.db"));
  const before = readFileSync(join(folder, "whole.db"));
  const tried = async (name: string) => {
    const findings = await find({ servers: [], archive: { path: join(folder, name) } });
    return findings.find(({ part }) => part === "archive");
  };
  const damaged = /^runs are not archived: the archive .*damaged\.db is damaged or not a database/;
  const refused = { area: "ptc", ok: false, detail: expect.stringMatching(damaged) };
  expect(await tried("damaged.db")).toMatchObject(refused);
  expect(await tried("file/archive.db")).toMatchObject({ ok: false });
  const whole = { area: "ptc", part: "archive", ok: true, detail: join(folder, "whole.db") };
  expect(await tried("whole.db")).toEqual(whole);
  expect(readFileSync(join(folder, "whole.db")).equals(before)).toBe(true);
});

test("servers that a client has beside ptc are named, and so is a ptc that is there twice", async () => {
  const echo = { command: process.execPath, args: [ECHO] };
  const ptc = { command: "ptc", args: ["serve"] };
  const findings = await find({ servers: [{ name: "x", ...echo }] }, withRuntime(), {
    ".mcp.json": { mcpServers: { x: echo, other: { command: "o" } } },
    ".claude.json": { mcpServers: { ptc, again: ptc } },
  });
  const found = { area: "ptc", part: "Claude Code", ok: true, note: true };
  expect(findings.filter(({ part }) => part === "Claude Code")).toEqual([
    { ...found, detail: expect.stringMatching(/^has ptc more than once, as 'ptc' in /) },
    { ...found, detail: expect.stringMatching(/^has x beside ptc .*--take-over/) },
  ]);
});

test.each([
  ["docker", "runsc"],
  ["wasm", "wasm"],
])(
  "what is known against the walls of the engine %s is refused with that engine, and nothing is left on disk",
  async (name, runtime) => {
    const { cwd, env } = folderWith({});
    const own = { ...env, PTC_ENGINE: name };
    const configuration = await loadConfiguration({ flag: undefined, env: own, cwd });
    const engine = new InProcessEngine();
    const refuse = (asked: InProcessEngine) => refuseBrokenWalls(configuration, env, () => asked);
    await refuse(engine);
    const { digest } = await engine.findImage(imageOf(configuration).reference);
    await openKnownWalls(env).note({ engine, runtime, image: digest }, ["network"]);
    await expect(refuse(engine)).rejects.toMatchObject({ code: "wall_broken" });
    const other = new InProcessEngine();
    other.describe = async () => ({ ...(await engine.describe()), identity: "another" });
    await refuse(other);
    expect(leftIn(cwd)).toEqual([]);
  },
);

/** What is wrong with a folder that has these files. */
function findQuickly(files: Record<string, string>, engine = new InProcessEngine()) {
  const { cwd, env } = folderWith({ "generated/none": "", ...files });
  return examineQuickly({ env, cwd, engine: () => engine });
}

test("nothing is wrong with a folder that uses no ptc", async () => {
  expect(await findQuickly({})).toBeUndefined();
});

const LOCAL = "servers: [{ name: x, command: never-started }]";

test.each([
  ["servers: 1", "configuration", /^ptc\.yaml:1: .*servers/],
  ["servers: []", "configuration", /^ptc\.yaml names no servers/],
  [LOCAL, "servers", /^the tools of 'x' are not known yet; run `ptc generate`$/],
])("with %j the first thing that is wrong is in the %s", async (text, area, detail) => {
  expect(await findQuickly({ "ptc.yaml": text })).toMatchObject({
    area,
    ok: false,
    detail: expect.stringMatching(detail),
  });
});

test("a server that could not be listed is named with its reason after all that keeps others from working, until ptc.yaml changes", async () => {
  const files = { "ptc.yaml": LOCAL, "generated/none": "" };
  const { cwd, env } = folderWith(files);
  const quickly = (engine: InProcessEngine) => examineQuickly({ env, cwd, engine: () => engine });
  const record = new UnlistedServers(join(cwd, "generated"), env);
  const why = "server 'x' cannot be started: Cannot find module 'x'";
  record.note(["x"], [{ server: "x", message: why }]);
  expect(await quickly(new InProcessEngine())).toMatchObject({ area: "sandbox", part: "gvisor" });
  expect(await quickly(withRuntime())).toMatchObject({
    area: "servers",
    detail: `${why} (once that is mended, \`ptc generate\` adds its tools)`,
  });
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(cwd, "ptc.yaml"), later, later);
  expect((await quickly(withRuntime()))?.detail).toMatch(/run `ptc generate`$/);
  record.note(["x"], []);
  expect(readdirSync(join(cwd, "state/ptc/unlisted"))).toEqual([]);
});

test("what one server could not do stays known while another is tried", () => {
  const { cwd, env } = folderWith({});
  const record = new UnlistedServers(cwd, env);
  record.note(
    ["a", "b"],
    [
      { server: "a", message: "why a" },
      { server: "b", message: "why b" },
    ],
  );
  record.note(["b"], []);
  expect([...record.read(undefined)]).toEqual([["a", "why a"]]);
});

test("modules that were edited are told, and nothing is started to find that out", async () => {
  const engine = new InProcessEngine();
  const found = await findQuickly({ "ptc.yaml": LOCAL, "generated/catalog.json": "{" }, engine);
  expect(found).toMatchObject({ area: "servers", detail: expect.stringContaining("catalog.json") });
  expect(engine.live.size).toBe(0);
});

test("the engine is asked once what it is, and not at all where a search for engines has asked it", async () => {
  const off = { "ptc.yaml": "servers: [{ name: x, command: y, env: { A: '${UNSET_VALUE}' } }]" };
  const engine = withRuntime();
  const describe = vi.spyOn(engine, "describe");
  expect(await findQuickly(off, engine)).toBeUndefined();
  expect(describe).toHaveBeenCalledTimes(1);
  const described = await engine.describe();
  describe.mockClear();
  Object.assign(engine, { settled: async () => ({ engine, why: "it is there", described }) });
  expect(await findQuickly(off, engine)).toBeUndefined();
  expect(describe).not.toHaveBeenCalled();
});

test("of an engine the runtime and the image are asked for", async () => {
  const off = { "ptc.yaml": "servers: [{ name: x, command: y, env: { A: '${UNSET_VALUE}' } }]" };
  expect(await findQuickly(off)).toMatchObject({ area: "sandbox", part: "gvisor" });
  const engine = withRuntime();
  expect(await findQuickly(off, engine)).toBeUndefined();
  Object.assign(engine, { findImage: async () => undefined });
  expect(await findQuickly(off, engine)).toMatchObject({
    area: "sandbox",
    detail: expect.stringMatching(
      /^the image ptc-runner(?::[0-9a-f]{12})?, which this project needs, is not here; run `ptc image build`/,
    ),
  });
});
