import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadConfiguration } from "../../configuration/load.ts";
import { openState } from "../../system/state-directory.ts";
import { composeSandboxes } from "../../wiring/sandboxes.ts";
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
  const own = openState(env);
  const composed = composeSandboxes(await load(256), own, { env, engine: () => engine, warm });
  onTestFinished(async () => {
    await composed.pool.close();
    expect(engine.live.size).toBe(0);
    own.state.remove();
    rmSync(cwd, { recursive: true });
  });
  return { ...composed, load, engine };
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

test("the sandbox of a command that runs one program ends with it", async () => {
  const { pool } = await open(0);
  const sandbox = await pool.acquire(NO_OUTPUT);
  expect(sandbox.lingerMs).toBeUndefined();
  await sandbox.dispose();
});
