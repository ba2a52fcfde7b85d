import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { examine, examineQuickly, type Finding } from "../../../cli/doctor/examine.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { openKnownWalls, refuseBrokenWalls } from "../../../wiring/open-known-walls.ts";
import { makeArchive } from "../../archive/made-archives.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";

const ECHO = join(import.meta.dirname, "../../fixtures/servers/echo-v1.mjs");

/** What is found with a configuration of that text, and that nothing of it is left. */
async function find(
  text: string,
  engine: InProcessEngine,
  files: Record<string, unknown> = {},
): Promise<Finding[]> {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-doctor-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  writeFileSync(join(cwd, "ptc.yaml"), text);
  for (const [file, content] of Object.entries(files))
    writeFileSync(join(cwd, file), JSON.stringify(content));
  const env = { XDG_RUNTIME_DIR: join(cwd, "run"), HOME: cwd };
  const findings: Finding[] = [];
  for await (const finding of examine({ env, cwd, principal: "local", engine: () => engine }))
    findings.push(finding);
  expect(readdirSync(join(cwd, "run")).flatMap((base) => readdirSync(join(cwd, "run", base)))).toEqual([]);
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
    { name: "x", transport: "stdio", command: process.execPath, args: [ECHO] },
    { name: "gone", transport: "stdio", command: "/nowhere/server" },
    { name: "off", transport: "stdio", command: "x", env: { KEY: "${UNSET_KEY}" } },
  ];
  const findings = await find(JSON.stringify({ servers }), withRuntime());
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
  expect(findings.at(-3)?.detail).toMatch(/^echo-v1 1\.2\.3, 2 tools, MCP /);
});

test("a command of tools.local that is not there is told of, and so is a secret of one", async () => {
  const tool = { inputSchema: {}, command: ["true"] };
  const local = [
    { ...tool, name: "fine" },
    { ...tool, name: "gone", command: ["nowhere-at-all"] },
    { ...tool, name: "away", cwd: "/nowhere/at/all" },
    { ...tool, name: "plain", command: ["./ptc.yaml"] },
    { ...tool, name: "keyed", env: { KEY: { file: "none.txt" } } },
    { ...tool, name: "unset", command: ["${UNSET_COMMAND}"] },
  ];
  const findings = await find(JSON.stringify({ tools: { local } }), withRuntime());
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

test("a runtime that lets no sandbox connect is told of, with what to write", async () => {
  const findings = await find("servers: []", withRuntime({ problem: "is set up wrongly; write this there" }));
  expect(findings.at(-1)).toMatchObject({
    part: "gvisor",
    ok: false,
    detail: "runtime 'runsc' is set up wrongly; write this there",
  });
});

test("a file of a secret that others may read is told of, and a secret that cannot be had is its server's", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-doctor-secret-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "token");
  writeFileSync(file, "a-token", { mode: 0o644 });
  const pin = join(folder, "pin");
  writeFileSync(pin, "123", { mode: 0o600 });
  const server = { transport: "stdio", command: process.execPath, args: [ECHO] };
  const servers = [
    { ...server, name: "x", env: { TOKEN: { file } } },
    { ...server, name: "short", env: { PIN: { file: pin } } },
    { ...server, name: "locked", env: { TOKEN: { command: [process.execPath, "-e", "process.exit(5)"] } } },
  ];
  const findings = await find(JSON.stringify({ servers }), withRuntime());
  expect(findings.find(({ part }) => part === "secrets")?.detail).toBe(
    `${file}, which holds TOKEN of server 'x', may be read by others (mode 0644); run \`chmod 600\` on it`,
  );
  expect(findings.at(-4)).toMatchObject({ part: "server x", ok: true });
  expect(findings.at(-1)).toEqual({
    area: "servers",
    part: "redaction",
    ok: true,
    detail: expect.stringMatching(
      /^PIN of server 'short' has 3 characters, and values of fewer than \d are not redacted$/,
    ),
  });
  expect(findings.at(-2)).toMatchObject({
    part: "server locked",
    ok: false,
    detail: "server 'locked' is not started: ptc.yaml:1: servers[2].env.TOKEN: `node` exited with 5",
  });
});

test("an archive that cannot be written is a failure, and one that can is left as it is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-doctor-archive-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(
    join(folder, "damaged.db"),
    "no database, and longer than the head of one would be".repeat(10),
  );
  writeFileSync(join(folder, "file"), "");
  makeArchive(join(folder, "whole.db"));
  const before = readFileSync(join(folder, "whole.db"));
  const tried = async (name: string) => {
    const text = JSON.stringify({ servers: [], archive: { path: join(folder, name) } });
    return (await find(text, withRuntime())).find(({ part }) => part === "archive");
  };
  expect(await tried("damaged.db")).toMatchObject({
    area: "ptc",
    ok: false,
    detail: expect.stringMatching(
      /^runs are not archived: the archive .*damaged\.db is damaged or no database/,
    ),
  });
  expect(await tried("file/archive.db")).toMatchObject({ ok: false });
  expect(await tried("whole.db")).toEqual({
    area: "ptc",
    part: "archive",
    ok: true,
    detail: join(folder, "whole.db"),
  });
  expect(readFileSync(join(folder, "whole.db")).equals(before)).toBe(true);
});

test("servers that a client has beside ptc are named, and so is a ptc that is there twice", async () => {
  const servers = [{ name: "x", command: process.execPath, args: [ECHO] }];
  const ptc = { command: "ptc", args: ["serve"] };
  const findings = await find(JSON.stringify({ servers }), withRuntime(), {
    ".mcp.json": { mcpServers: { x: { command: process.execPath, args: [ECHO] }, other: { command: "o" } } },
    ".claude.json": { mcpServers: { ptc, again: ptc } },
  });
  const ofClaude = findings.filter(({ part }) => part === "Claude Code");
  expect(ofClaude).toEqual([
    {
      area: "ptc",
      part: "Claude Code",
      ok: true,
      detail: expect.stringMatching(/^has ptc more than once, as 'ptc' in /),
    },
    {
      area: "ptc",
      part: "Claude Code",
      ok: true,
      detail: expect.stringMatching(/^has x beside ptc .*--take-over/),
    },
  ]);
});

test("what is known against the walls of an engine is refused with that engine, and nothing is left on disk", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-walls-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  const env = { XDG_RUNTIME_DIR: join(cwd, "run"), XDG_STATE_HOME: join(cwd, "state") };
  const configuration = await loadConfiguration({ flag: undefined, env, cwd });
  const { image, runtime } = configuration.sandbox;
  const engine = new InProcessEngine();
  const refuse = (asked: InProcessEngine) => refuseBrokenWalls(configuration, env, () => asked);
  await refuse(engine);
  const { digest } = await engine.findImage(image);
  await openKnownWalls(env).note({ engine, runtime, image: digest }, ["network"]);
  await expect(refuse(engine)).rejects.toMatchObject({ code: "wall_broken" });
  const other = new InProcessEngine();
  other.describe = async () => ({ ...(await engine.describe()), identity: "another" });
  await refuse(other);
  expect(readdirSync(join(cwd, "run")).flatMap((base) => readdirSync(join(cwd, "run", base)))).toEqual([]);
});

/** What is wrong with a folder that has a configuration of that text. */
async function findQuickly(
  text: string | undefined,
  engine = new InProcessEngine(),
  more: Record<string, string> = {},
) {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-quickly-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  mkdirSync(join(cwd, "generated"));
  if (text !== undefined) writeFileSync(join(cwd, "ptc.yaml"), text);
  for (const [file, content] of Object.entries(more)) writeFileSync(join(cwd, file), content);
  return examineQuickly({ env: { XDG_RUNTIME_DIR: join(cwd, "run") }, cwd, engine: () => engine });
}

test("nothing is wrong with a folder that uses no ptc", async () => {
  expect(await findQuickly(undefined)).toBeUndefined();
});

const LOCAL = "servers: [{ name: x, command: never-started }]";

test.each([
  ["servers: 1", "configuration", /^ptc\.yaml:1: .*servers/],
  ["servers: []", "configuration", /^ptc\.yaml names no servers/],
  [LOCAL, "servers", /^the tools of 'x' are not known yet; run `ptc generate`$/],
])("with %j the first thing that is wrong is in the %s", async (text, area, detail) => {
  expect(await findQuickly(text)).toMatchObject({ area, ok: false, detail: expect.stringMatching(detail) });
});

test("modules that were edited are told, and nothing is started to find that out", async () => {
  const engine = new InProcessEngine();
  const found = await findQuickly(LOCAL, engine, { "generated/catalog.json": "{" });
  expect(found).toMatchObject({ area: "servers", detail: expect.stringContaining("catalog.json") });
  expect(engine.live.size).toBe(0);
});

test("of an engine the runtime and the image are asked for", async () => {
  const off = "servers: [{ name: x, command: y, env: { A: '${UNSET_VALUE}' } }]";
  expect(await findQuickly(off)).toMatchObject({ area: "sandbox", part: "gvisor" });
  const engine = new InProcessEngine();
  const describe = engine.describe;
  engine.describe = async () => ({
    ...(await describe()),
    runtimes: new Map([["runsc", { path: "/nowhere/runsc" }]]),
  });
  expect(await findQuickly(off, engine)).toBeUndefined();
  Object.assign(engine, { findImage: async () => undefined });
  expect(await findQuickly(off, engine)).toMatchObject({
    area: "sandbox",
    detail: "there is no image 'ptc-runner'; run `ptc image build`",
  });
});
