import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { loadConfiguration } from "../../configuration/load.ts";
import { Project } from "../../project/open-project.ts";
import { composeSandboxes, warmSandbox } from "../../project/sandboxes/sandboxes.ts";
import { Processors } from "../../system/processors.ts";
import { eventually } from "../eventually.ts";
import { InProcessEngine } from "../sandbox/in-process-engine.ts";

const NO_OUTPUT = { onStdout() {}, onStderr() {} };

/** The sandboxes of a configuration, with a pool of that many. */
async function open(warm: number) {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-sandboxes-"));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  const env = { XDG_RUNTIME_DIR: join(cwd, "run"), XDG_STATE_HOME: join(cwd, "state") };
  const load = (memory_mb: number) => {
    writeFileSync(join(cwd, "ptc.yaml"), JSON.stringify({ servers: [], execution: { memory_mb } }));
    return loadConfiguration({ flag: undefined, env, cwd });
  };
  const engine = new InProcessEngine();
  const project = new Project(await load(256), { env, onWarning() {} });
  const composed = composeSandboxes(project, { engine: () => engine, warm });
  onTestFinished(async () => {
    await project.close();
    expect(engine.live.size).toBe(0);
    rmSync(cwd, { recursive: true });
  });
  return { ...composed, env, load, engine, project };
}

test("where sandboxes wait for programs they may linger, also under an edited configuration", async () => {
  const { pool, reconfigure, load, engine } = await open(1);
  const first = await pool.acquire(NO_OUTPUT);
  reconfigure(await load(128));
  const second = await pool.acquire(NO_OUTPUT);
  expect(engine.requests.map(({ limits }) => limits.memoryMb)).toEqual(expect.arrayContaining([256, 128]));
  expect([first.lingerMs, second.lingerMs]).toEqual([expect.any(Number), expect.any(Number)]);
  await Promise.all([first.dispose(), second.dispose()]);
});

test.each([
  ["of this machine wait until its processors are free", false],
  ["that run elsewhere do not look at the processors of this machine", true],
])("refills of sandboxes %s", async (_, isElsewhere) => {
  const areBusy = vi.spyOn(Processors.prototype, "areBusy").mockReturnValue(true);
  onTestFinished(() => areBusy.mockRestore());
  const { pool, engine } = await open(1);
  Object.assign(engine, { isElsewhere: () => isElsewhere });
  const taken = await pool.acquire(NO_OUTPUT);
  if (isElsewhere) await eventually(() => expect(pool.state.ready).toBe(1));
  else await eventually(() => expect(areBusy.mock.calls.length).toBeGreaterThan(2));
  expect([engine.requests.length, areBusy.mock.calls.length > 0]).toEqual([
    isElsewhere ? 2 : 1,
    !isElsewhere,
  ]);
  await taken.dispose();
});

test("a project that closes waits for sandboxes whose programs have just answered", async () => {
  const { pool, engine, project } = await open(1);
  const taken = await pool.acquire(NO_OUTPUT);
  // Nothing that waits or starts keeps the pool from closing at once.
  await pool.close();
  void taken.dispose();
  expect(engine.live.has(taken.id)).toBe(true);
  await project.close();
  expect(engine.live.size).toBe(0);
});

test("the sandbox of a command that runs one program ends with it", async () => {
  const { pool } = await open(0);
  const sandbox = await pool.acquire(NO_OUTPUT);
  expect(sandbox.lingerMs).toBeUndefined();
  await sandbox.dispose();
});

test.each([
  ["leaves the removal of what has ended to an engine that does it alone", { removesItself: true }, 0],
  ["waits for the removal by an engine that needs ptc for it", {}, 1],
] as const)("a command that ends %s", async (_, itself, waited) => {
  const { pool, engine } = await open(0);
  let removals = 0;
  const start = engine.start.bind(engine);
  engine.start = async (...asked) => {
    const started = await start(...asked);
    const removed = async () => {
      removals++;
      await started.removed();
    };
    return { ...started, removed, ...itself };
  };
  const sandbox = await pool.acquire(NO_OUTPUT);
  await sandbox.dispose();
  expect(removals).toBe(waited);
  expect(engine.live.size).toBe(0);
});

test("a configuration whose sandboxes are the same starts none anew", async () => {
  const { pool, reconfigure, load, engine } = await open(1);
  pool.wake();
  await eventually(() => expect(pool.ready).toBe(true));
  reconfigure(await load(256));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(engine.requests).toHaveLength(1);
});

test("an engine that does not answer keeps nobody waiting for what dead processes have left", async () => {
  const { sweep, engine } = await open(0);
  engine.list = () => Promise.reject(new Error("no engine"));
  await expect(sweep()).resolves.toBeUndefined();
});

test("a command warms a sandbox of its program's language with the engine that it is given, and it ends untaken", async () => {
  const { env, load } = await open(0);
  const engine = new InProcessEngine();
  const project = new Project(await load(256), { env, onWarning() {} });
  const { pool } = await warmSandbox(project, "python", () => engine);
  await eventually(() => expect(pool.state).toEqual({ ready: 1, starting: 0 }));
  expect(engine.requests.map(({ runner }) => runner)).toEqual(["python"]);
  await project.close();
  expect(engine.live.size).toBe(0);
});
