import { expect, test } from "vitest";
import { SandboxPool } from "../../../sandbox/pool/sandbox-pool.ts";
import { NO_OUTPUT } from "../outputs.ts";
import { settled, turns, until, usePool } from "./open-pool.ts";

/** A pool of sandboxes with any runner over a fake engine, and how many of each are alive. */
function open(floor: number) {
  const { engine, source } = usePool({ size: 0 });
  const options = { starter: source, bounds: { floor, ceiling: floor }, runner: "javascript" as const };
  const alive = () => {
    const commands = [...engine.live.values()].map(({ command }) => command.join(" "));
    const python = commands.filter((command) => command.includes("python")).length;
    return { javascript: commands.length - python, python };
  };
  return { engine, options, alive, pool: new SandboxPool(options) };
}

/** Runs a program, as the first of a client. */
async function runOne(pool: SandboxPool): Promise<void> {
  await (await pool.acquire(NO_OUTPUT)).dispose();
}

test("sandboxes of another runner begin to wait when a program needs one, and the two share what one had", async () => {
  const { engine, pool, alive } = open(2);
  const python = pool.withRunner?.("python");
  await runOne(pool);
  await settled(engine, 2);
  expect([alive(), pool.state]).toEqual([
    { javascript: 2, python: 0 },
    { ready: 2, starting: 0 },
  ]);
  expect([pool.ready, python.ready]).toEqual([true, false]);
  const sandbox = await python.acquire(NO_OUTPUT);
  expect(engine.live.get(sandbox.id)?.command.join(" ")).toContain("python");
  await until(() => expect(alive()).toEqual({ javascript: 1, python: 2 }));
  await settled(engine, 3);
  expect([pool.ready, python.ready]).toEqual([true, true]);
  await sandbox.dispose();
  await pool.close();
  expect(engine.live.size).toBe(0);
});

test("the one sandbox that waits has the runner that was used last", async () => {
  const { engine, pool, alive } = open(1);
  const used = [await pool.acquire(NO_OUTPUT), await pool.acquire(NO_OUTPUT, undefined, undefined, "python")];
  for (const sandbox of used) await sandbox.dispose();
  await until(() => expect(alive()).toEqual({ javascript: 0, python: 1 }));
  await settled(engine, 1);
  await (await pool.acquire(NO_OUTPUT)).dispose();
  await until(() => expect(alive()).toEqual({ javascript: 1, python: 0 }));
  await pool.close();
});

test("a replaced pool still serves who waits for it, and then ends; the other serves all who come later", async () => {
  const { engine, pool, options } = open(1);
  const after = usePool({ size: 0 });
  engine.hold();
  const early = pool.acquire(NO_OUTPUT);
  await until(() => expect(engine.starting).toBeGreaterThan(0));
  pool.replace({ ...options, starter: after.source });
  const late = await pool.acquire(NO_OUTPUT);
  expect(after.engine.live.has(late.id)).toBe(true);
  engine.release("all");
  const sandbox = await early;
  expect(engine.live.has(sandbox.id)).toBe(true);
  await settled(engine, 1);
  await Promise.all([sandbox.dispose(), late.dispose()]);
  await pool.close();
  expect([engine.live.size, after.engine.live.size]).toEqual([0, 0]);
});

test("sandboxes of a pool that takes another's place begin to wait before anybody asks, and the others end", async () => {
  const { engine, pool, options } = open(1);
  pool.wake();
  await settled(engine, 1);
  const after = usePool({ size: 0 });
  pool.replace({ ...options, starter: after.source });
  await settled(after.engine, 1);
  await until(() => expect(engine.live.size).toBe(0));
  await pool.close();
  expect([engine.started, after.engine.live.size]).toEqual([1, 0]);
});

test("a sandbox that was warmed for one program has its runner; a program of another language gets its own", async () => {
  const { engine, pool, alive } = open(0);
  await pool.warmOne("python");
  expect(alive()).toEqual({ javascript: 0, python: 1 });
  const other = await pool.acquire(NO_OUTPUT);
  expect(alive()).toEqual({ javascript: 1, python: 1 });
  await other.dispose();
  await pool.close();
  expect(engine.live.size).toBe(0);
});

test("a pool that nobody uses is replaced by one that starts nothing", async () => {
  const { pool, options } = open(2);
  const after = usePool({ size: 0 });
  pool.replace({ ...options, starter: after.source });
  await turns();
  expect(after.engine.attempts).toBe(0);
  await pool.close();
});

test("what waits for a client has the runner of the last program", async () => {
  const { engine, pool, alive } = open(1);
  pool.wake();
  await settled(engine, 1);
  expect(alive()).toEqual({ javascript: 1, python: 0 });
  await (await pool.acquire(NO_OUTPUT, undefined, undefined, "python")).dispose();
  await until(() => expect(alive()).toEqual({ javascript: 0, python: 1 }));
  pool.wake();
  await turns();
  expect(alive()).toEqual({ javascript: 0, python: 1 });
  await pool.close();
});
