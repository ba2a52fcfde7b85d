import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { NO_OUTPUT } from "../outputs.ts";
import { settled, turns, until, usePool, useWarmPool } from "./open-pool.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** Time passes, in steps that leave sockets and promises the turns they need. */
async function pass(ms: number, stepMs = ms): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    await vi.advanceTimersByTimeAsync(Math.min(left, stepMs));
    await turns();
  }
}

test("while no engine answers the pool tries ever less often, callers fail at once, and the pool fills once it is back", async () => {
  const { engine, pool } = usePool({ size: 2 });
  engine.down = true;
  pool.warm();
  await pass(120_000, 250);
  expect(engine.looks).toBeGreaterThan(4);
  expect(engine.looks).toBeLessThan(24);

  const looks = engine.looks;
  await expect(pool.acquire(NO_OUTPUT)).rejects.toMatchObject({ code: "engine_unreachable" });
  expect(engine.looks).toBe(looks + 1);

  engine.down = false;
  await pass(30_000);
  await settled(engine, 2);
});

test("who asks successfully after a failure ends the pause: the pool fills at once", async () => {
  const { engine, pool } = usePool({ size: 2 });
  engine.down = true;
  pool.warm();
  await pass(60_000, 250);
  engine.down = false;
  await pool.acquire(NO_OUTPUT);
  await settled(engine, 1 + 2);
});

test("without an engine no sandbox is handed out, for nobody could end its program, and none is lost", async () => {
  const { engine, pool } = await useWarmPool({ size: 2 });
  await pass(1_000);
  engine.down = true;
  await expect(pool.acquire(NO_OUTPUT)).rejects.toMatchObject({ code: "engine_unreachable" });
  engine.down = false;
  await pool.acquire(NO_OUTPUT);
  expect(engine.started).toBeLessThanOrEqual(3);
});

test("containers that keep dying as they wait are not started over and over", async () => {
  const { engine, pool } = usePool({ size: 2 });
  pool.warm();
  for (let step = 0; step < 240; step++) {
    await pass(250);
    for (const container of engine.live.values()) container.end(1);
    await turns();
  }
  expect(engine.started).toBeGreaterThan(4);
  expect(engine.started).toBeLessThan(24);
});

test("a container that dies after a long good wait is replaced soon, every time", async () => {
  const { engine, pool } = usePool({ size: 1, restAfterMs: 3_600_000 });
  pool.warm();
  for (let round = 1; round <= 8; round++) {
    await settled(engine, 1);
    await pass(60_000);
    const [container] = engine.live.values();
    container?.end(137);
    await until(() => expect(engine.live.size).toBe(0));
    await pass(500);
    await settled(engine, 1);
  }
  expect(engine.started).toBe(9);
});

test("what has waited for long is replaced, and stays until its replacement is there", async () => {
  const { engine } = await useWarmPool({ size: 2, maxIdleMs: 60_000 });
  const old = [...engine.live.keys()];
  engine.hold();
  await pass(60_000);
  await until(() => expect(engine.starting).toBe(1));
  expect([...engine.live.keys()]).toEqual(old);
  engine.release("all");
  await until(() => expect(old.filter((id) => engine.live.has(id))).toEqual([]));
  await settled(engine, 2);
  await pass(59_000);
  expect(engine.started).toBe(4);
});

test("a runner that connects and never speaks is given up", async () => {
  const { engine, pool, folders } = usePool({ size: 0 });
  engine.greets = false;
  const acquired = pool.acquire(NO_OUTPUT);
  acquired.catch(() => {});
  await until(() => expect(engine.live.size).toBe(1));
  await turns();
  await pass(30_000);
  await expect(acquired).rejects.toMatchObject({ code: "start_failed" });
  expect([...engine.live.keys(), ...folders()]).toEqual([]);
});

test("a waiting sandbox of an image that has been built anew is not handed out", async () => {
  const { engine, pool } = await useWarmPool({ size: 3 });
  engine.image = "sha256:second";
  await pass(1_000);
  expect(await pool.acquire(NO_OUTPUT)).toMatchObject({ image: "sha256:second" });
  await settled(engine, 1 + 3);
  const next = await Promise.all([1, 2, 3].map(() => pool.acquire(NO_OUTPUT)));
  expect(next.map(({ image }) => image)).toEqual(Array(3).fill("sha256:second"));
});

test("while others are ready, a taken sandbox is replaced a while later; the last one is replaced at once", async () => {
  const { engine, pool } = await useWarmPool({ size: 2 });
  await pool.acquire(NO_OUTPUT);
  await turns();
  expect(engine.started).toBe(2);
  await pass(600);
  await settled(engine, 3);
  await pool.acquire(NO_OUTPUT);
  await pool.acquire(NO_OUTPUT);
  await until(() => expect(engine.started).toBeGreaterThanOrEqual(4));
});

test.each([
  ["in a row and enough others are ready", 3, 0],
  ["and one runs for long, whose end begins the lull", 1, 400],
])("while programs come %s none is replaced; in the lull after them all are", async (_, arrivals, runsMs) => {
  const { engine, pool } = await useWarmPool({ size: 6 });
  for (let arrival = 0; arrival < arrivals; arrival++) {
    const sandbox = await pool.acquire(NO_OUTPUT);
    await pass(runsMs, 10);
    await sandbox.dispose();
    await pass(100, 10);
  }
  expect(engine.started).toBe(6);
  await pass(60, 10);
  await settled(engine, 6);
});

test("once too few are ready, programs that come in a row have those replaced that were taken", async () => {
  const { engine, pool } = await useWarmPool({ size: 6 });
  engine.hold();
  for (let arrival = 0; arrival < 4; arrival++) {
    await (await pool.acquire(NO_OUTPUT)).dispose();
    await pass(20, 10);
  }
  await until(() => expect(engine.starting).toBeGreaterThan(0));
});

test("while many programs come more sandboxes wait, up to a ceiling, and when they stop they go again", async () => {
  const { engine, pool } = await useWarmPool({ size: 2, maxSize: 5 });
  engine.hold();
  for (let round = 0; round < 12; round++) {
    const asked = Array.from({ length: 4 }, () => pool.acquire(NO_OUTPUT));
    await pass(500, 50);
    for (let start = 0; start < 6; start++) engine.release("first");
    await Promise.all(asked.map(async (sandbox) => (await sandbox).dispose()));
  }
  await pass(500);
  engine.release("all");
  await settled(engine, 5);
  const { started } = engine;
  await pass(40_000, 1_000);
  expect(engine.live.size).toBe(5);
  await pass(60_000, 1_000);
  await settled(engine, 2);
  expect(engine.started).toBe(started);
});

test("where sandboxes take long to boot, more of them wait for the same programs", async () => {
  const waiting = [];
  for (const bootMs of [0, 10_000]) {
    const { engine, pool } = usePool({ size: 2, maxSize: 8 });
    engine.hold();
    pool.warm();
    await until(() => expect(engine.starting).toBe(2));
    await pass(bootMs);
    engine.release("all");
    await settled(engine, 2);
    for (let arrival = 0; arrival < 10; arrival++) {
      await (await pool.acquire(NO_OUTPUT)).dispose();
      await pass(480, 80);
    }
    await pass(500, 100);
    waiting.push(pool.state.ready);
  }
  expect(waiting[1]).toBeGreaterThan(waiting[0] ?? 0);
});

test("a pool that is off stays so, however many programs come", async () => {
  const { engine, pool } = usePool({ size: 0, maxSize: 5 });
  for (let arrival = 0; arrival < 30; arrival++) await (await pool.acquire(NO_OUTPUT)).dispose();
  await pass(1_000);
  expect(engine.live.size).toBe(0);
});

test("what callers wait for counts as a refill: no more is started than the pool may start at once", async () => {
  const { engine, pool } = usePool({ size: 2, maxStarts: 3 });
  engine.hold();
  const asked = Array.from({ length: 3 }, () => pool.acquire(NO_OUTPUT));
  await turns();
  expect(engine.starting).toBeLessThanOrEqual(3 + 2);
  engine.release("all");
  await Promise.all(asked);
  await settled(engine, 3 + 2);
});

test("a pool that is full, and has no more than it keeps, waits for nothing but the age of what waits and its own rest", async () => {
  await useWarmPool({ size: 2, maxSize: 5 });
  await pass(120_000, 1_000);
  expect(vi.getTimerCount()).toBe(2 + 1);
});

test("when no program has come for a while none waits; the next one has its own started, and then as many wait as before", async () => {
  const { engine, pool } = await useWarmPool({ size: 2, restAfterMs: 60_000 });
  await pass(59_000, 1_000);
  expect(engine.live.size).toBe(2);
  await pass(1_000);
  await settled(engine, 0);
  await pass(600_000, 10_000);
  expect([engine.started, vi.getTimerCount()]).toEqual([2, 0]);

  const sandbox = await pool.acquire(NO_OUTPUT);
  await settled(engine, 1 + 2);
  await sandbox.dispose();
  await pass(59_000, 1_000);
  expect(pool.state).toEqual({ ready: 2, starting: 0 });
  await pass(2_000);
  await settled(engine, 0);
});

test("each program puts the rest off, and one that runs for long does not", async () => {
  const { engine, pool } = await useWarmPool({ size: 2, restAfterMs: 60_000 });
  for (let arrival = 0; arrival < 3; arrival++) {
    await pass(50_000, 1_000);
    await (await pool.acquire(NO_OUTPUT)).dispose();
  }
  await pool.acquire(NO_OUTPUT);
  await pass(59_000, 1_000);
  await settled(engine, 1 + 2);
  await pass(2_000);
  await settled(engine, 1);
});

test("what is still being started when the pool rests ends once it is ready, and one for a program that is about to ask stays", async () => {
  const { engine, pool } = usePool({ size: 2, restAfterMs: 60_000 });
  engine.hold();
  pool.warm();
  await until(() => expect(engine.starting).toBe(2));
  await pass(10_000);
  await pass(50_000);
  engine.release("all");
  await until(() => expect(engine.started).toBe(2));
  await settled(engine, 0);
  await pool.warmOne();
  await settled(engine, 1);
  await pool.acquire(NO_OUTPUT);
});

test("while programs use all processors none is replaced for half a minute, then one; once one is free all are", async () => {
  let isBusy = false;
  const { engine, pool } = await useWarmPool({ size: 2, isBusy: () => isBusy });
  isBusy = true;
  for (let taken = 0; taken < 2; taken++) await pool.acquire(NO_OUTPUT);
  await pass(29_000, 500);
  expect(engine.started).toBe(2);
  await pass(2_000, 500);
  await settled(engine, 2 + 1);
  await pass(60_000, 500);
  expect(engine.started).toBe(3);
  isBusy = false;
  await pass(300, 50);
  await settled(engine, 2 + 2);
});

test("who asks while all processors are used has one started at once, and what waits for a client is no refill", async () => {
  const { engine, pool } = usePool({ size: 2, isBusy: () => true });
  pool.wake();
  await settled(engine, 1);
  for (let taken = 0; taken < 2; taken++) await pool.acquire(NO_OUTPUT);
  await pass(29_000, 500);
  expect(engine.started).toBe(2);
});

test("under a load that does not end one waits again half a minute after each was taken, and none is started over and over while no engine answers", async () => {
  const { engine, pool } = usePool({ size: 3, isBusy: () => true });
  for (let taken = 1; taken <= 3; taken++) {
    await (await pool.acquire(NO_OUTPUT)).dispose();
    await pass(29_000, 500);
    expect(pool.state).toEqual({ ready: 0, starting: 0 });
    await pass(2_000, 500);
    expect(pool.state).toEqual({ ready: 1, starting: 0 });
  }
  engine.down = true;
  await expect(pool.acquire(NO_OUTPUT)).rejects.toMatchObject({ code: "engine_unreachable" });
  for (const container of engine.live.values()) container.end(1);
  const { looks } = engine;
  await pass(120_000, 500);
  expect(engine.looks - looks).toBeLessThan(12);
});

test("each sign of a client puts the rest off, and the first after it has one started", async () => {
  const { engine, pool } = usePool({ size: 2, restAfterMs: 60_000 });
  for (let sign = 0; sign < 3; sign++) {
    pool.wake();
    await settled(engine, 1);
    await pass(50_000, 1_000);
  }
  expect(engine.started).toBe(1);
  await pass(10_000);
  await settled(engine, 0);
  expect(pool.isAwake).toBe(false);
  pool.wake();
  await settled(engine, 1);
  expect(engine.started).toBe(2);
});
