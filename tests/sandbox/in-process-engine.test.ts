import { expect, onTestFinished, test, vi } from "vitest";
import { KnownWalls } from "../../sandbox/known-walls.ts";
import { WarmPool } from "../../sandbox/pool/warm-pool.ts";
import { SandboxStarter, sweepSandboxes } from "../../sandbox/sandbox-starter.ts";
import { eventually } from "../eventually.ts";
import { InProcessEngine } from "./in-process-engine.ts";
import { NO_OUTPUT } from "./outputs.ts";

const LIMITS = { memoryMb: 64, cpus: 1, pids: 32 };

function open(lingers = false) {
  const engine = new InProcessEngine();
  const walls = new KnownWalls("/nowhere/walls.json");
  const options = { engine, owner: "me", image: "img", runtime: "none", limits: LIMITS, walls, lingers };
  return { engine, source: new SandboxStarter(options) };
}

test("an engine without containers starts sandboxes on demand, and is given back what they held", async () => {
  const { engine, source } = open();
  const sandbox = await source.acquire(NO_OUTPUT);
  const image = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
  expect(engine.requests).toEqual([
    { image, runtime: "none", runner: "javascript", limits: LIMITS, owner: "me" },
  ]);
  expect(sandbox).toMatchObject({ id: "sandbox-1", image });
  const greeting = await new Promise((resolve) => sandbox.channel.once("data", resolve));
  expect(String(greeting)).toContain('"hello"');
  expect(engine.released.size).toBe(0);
  await sandbox.dispose();
  expect(engine.live.size).toBe(0);
  expect([...engine.released]).toEqual(["sandbox-1"]);
});

test("a sandbox that ends before it connects is given back, and said to have failed", async () => {
  const { engine, source } = open();
  const start = engine.start.bind(engine);
  engine.start = async (request, output) => {
    const started = { ...(await start(request, output)), connected: new Promise<never>(() => {}) };
    await started.kill();
    return started;
  };
  await expect(source.acquire(NO_OUTPUT)).rejects.toMatchObject({
    code: "start_failed",
    message: expect.stringContaining("exit code 137"),
  });
  expect([...engine.released]).toEqual(["sandbox-1"]);
});

test("a pool keeps sandboxes of any engine waiting, and leaves none behind", async () => {
  const { engine, source } = open();
  const pool = new WarmPool(source, { bounds: { floor: 2, ceiling: 2 } });
  pool.warm();
  await eventually(() => expect(engine.live.size).toBe(2));
  await eventually(() => expect(pool.ready).toBe(true));
  const sandbox = await pool.acquire(NO_OUTPUT);
  await eventually(() => expect(engine.live.size).toBe(3));
  await sandbox.dispose();
  await pool.close();
  expect(engine.live.size).toBe(0);
  expect(engine.released.size).toBe(engine.requests.length);
});

test("sandboxes whose owner is dead are removed from any engine", async () => {
  const engine = new InProcessEngine();
  engine.live.set("a", "dead").set("b", "alive").set("c", "");
  await sweepSandboxes(engine, (owner) => owner === "dead");
  expect([...engine.live.keys()]).toEqual(["b", "c"]);
});

test("a sandbox that may linger is left alone until its answer is out; one that has ended is not waited for", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { engine, source } = open(true);
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  const lingering = await source.acquire(NO_OUTPUT);
  expect(lingering.lingerMs).toBeGreaterThan(0);
  const disposed = lingering.dispose();
  for (let i = 0; i < 10; i++) await turn();
  expect(engine.live.size).toBe(1);
  await vi.advanceTimersByTimeAsync(lingering.lingerMs as number);
  await disposed;
  expect(engine.live.size).toBe(0);

  const killed = await source.acquire(NO_OUTPUT);
  await killed.kill();
  await killed.dispose();
  expect(engine.released.size).toBe(2);
});

test("a sandbox that may not linger is ended at once, and its program is not told that it may", async () => {
  const sandbox = await open().source.acquire(NO_OUTPUT);
  expect(sandbox.lingerMs).toBeUndefined();
});

test("a sandbox that is given back is left first, to end by itself, and is not killed once it has ended", async () => {
  const { engine, source } = open();
  const told: string[] = [];
  const start = engine.start.bind(engine);
  engine.start = async (request, output) => {
    const started = await start(request, output);
    return {
      ...started,
      leave() {
        told.push("leave");
        started.leave();
      },
      kill() {
        told.push("kill");
        return started.kill();
      },
    };
  };
  const sandbox = await source.acquire(NO_OUTPUT);
  await sandbox.dispose();
  await sandbox.kill();
  expect(told).toEqual(["leave"]);
});
