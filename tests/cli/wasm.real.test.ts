/** The engine `wasm` for an ordinary user of a machine that has neither Docker nor gVisor: what a first user does, with the built ptc. */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { envelopeOf, fixtureServer, usePtc } from "./ptc-process.ts";

const NOBODY = "65534";
/** Has root become an ordinary user. Another user is one. */
const AS_ORDINARY_USER =
  process.getuid?.() === 0 ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];

const newProject = usePtc();
const home = mkdtempSync(join(tmpdir(), "ptc-ordinary-"));
const env = {
  ...{ PATH: "/usr/bin:/bin", HOME: home, XDG_RUNTIME_DIR: home },
  ...{ PTC_ENGINE: "wasm", PTC_HOST: "off", PTC_KEYRING: "off", DOCKER_HOST: "unix:///nowhere/docker.sock" },
};
let ptc: string[];

beforeAll(() => {
  ptc = [...AS_ORDINARY_USER, ...newProject().command([])];
  const [command = ""] = ptc.slice(-1);
  // What is built for tests is below folders that only their owner may enter.
  for (let folder = dirname(command); folder.startsWith(`${tmpdir()}/`); folder = dirname(folder))
    chmodSync(folder, 0o755);
  const { name, ...server } = fixtureServer("w", "counts-calls.mjs", [join(home, "calls")]);
  writeFileSync(join(home, ".mcp.json"), JSON.stringify({ mcpServers: { [name]: server } }));
  if (AS_ORDINARY_USER.length > 0) execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, home]);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function start(...args: string[]) {
  return startIn(env, home, ...args);
}

function startIn(variables: Record<string, string>, cwd: string, ...args: string[]) {
  const [command = "", ...rest] = [...ptc, ...args];
  const { status, stdout, stderr } = spawnSync(command, rest, { cwd, env: variables, encoding: "utf8" });
  return { code: status, stdout, stderr };
}

const PROGRAM = 'import { note } from "./servers/w/index.js"; globalThis.result = await note({ id: "1" });';

test("an ordinary user without Docker and gVisor begins a project, runs a program, and serves a model", async () => {
  expect(start("init", "--import", ".mcp.json", "--all", "--keep")).toMatchObject({ code: 0 });
  expect(start("generate")).toMatchObject({ code: 0 });
  writeFileSync(join(home, "program.ts"), PROGRAM);
  const refused = envelopeOf(start("run", "program.ts"));
  expect(refused).toMatchObject({ approval_state: "DENIED", result: { ok: false } });
  const run = envelopeOf(start("run", "program.ts", "--approve", "mcp__w__*"));
  expect(run).toMatchObject({ sandbox_engine: "wasm", result: { ok: true, metrics: { tool_calls: 1 } } });
  expect(start("replay", run.run_id)).toMatchObject({ code: 0 });
  expect(start("doctor")).toMatchObject({ code: 0, stdout: expect.stringContaining("weaker than gVisor") });

  const client = new Client({ name: "test", version: "1" });
  const [command = "", ...args] = [...ptc, "serve"];
  await client.connect(new StdioClientTransport({ command, args, cwd: home, env, stderr: "ignore" }));
  try {
    const code = "globalThis.result = [1, 2].map((each) => each * 21);";
    const { content } = await client.callTool({ name: "execute_program", arguments: { code } });
    expect(JSON.stringify(content)).toContain("[21,42]");
  } finally {
    await client.close();
  }
});

test.each([
  ["TypeScript", "waits.ts", PROGRAM],
  ["Python", "waits.py", 'from servers.w import note\nresult = note(id="1")\n'],
])(
  "the same user runs a program in %s that waits for an approval, lets it go on, and replays it",
  (_language, file, program) => {
    const settings = join(home, "ptc.yaml");
    const text = readFileSync(settings, "utf8").replace(/^languages:.*\n/gm, "");
    writeFileSync(settings, `${text}\nlanguages: [typescript, python]\n`);
    expect(start("generate")).toMatchObject({ code: 0 });
    writeFileSync(join(home, file), program);
    const waits = envelopeOf(start("run", file, "--suspend"));
    expect(waits.result).toMatchObject({ error: { type: "ApprovalPending" } });
    const [{ ticket }] = JSON.parse(start("approvals", "list", "--json").stdout);
    expect(start("approvals", "approve", ticket)).toMatchObject({ code: 0 });
    const run = envelopeOf(start("run", "--ticket", ticket));
    expect(run).toMatchObject({ sandbox_engine: "wasm", result: { ok: true, metrics: { tool_calls: 1 } } });
    expect(start("replay", run.run_id)).toMatchObject({ code: 0 });
  },
);

test("`ptc up` with the engine wasm needs one command, and what it writes holds without the variable", () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-up-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  copyFileSync(join(home, ".mcp.json"), join(folder, ".mcp.json"));
  if (AS_ORDINARY_USER.length > 0) execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, folder]);
  const ofFolder = { ...env, HOME: folder, XDG_RUNTIME_DIR: folder };
  const up = startIn(ofFolder, folder, "up", "--yes");
  expect(up.stdout).toMatch(/^6\/6 {2}program +done: /m);
  expect(up.code).toBe(0);
  const { PTC_ENGINE, ...others } = ofFolder;
  writeFileSync(join(folder, "program.ts"), "globalThis.result = 6 * 7;");
  const run = envelopeOf(startIn(others, folder, "run", "program.ts"));
  expect(run).toMatchObject({ sandbox_engine: "wasm", result: { ok: true, data: 42 } });
});
