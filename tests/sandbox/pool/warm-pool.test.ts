import { expect, test } from "vitest";
import { inBoundary, withinBoundary } from "../../../base/faults.ts";
import { NO_OUTPUT } from "../outputs.ts";
import type { FakeContainer } from "./fake-engine.ts";
import { readGreeting, settled, turns, until, usePool, useWarmPool } from "./open-pool.ts";

test("a pool does nothing until it is warmed, and then keeps its number waiting, two starts at a time", async () => {
  const { engine, pool } = usePool({ size: 5 });
  await turns();
  expect(engine.looks).toBe(0);
  engine.hold();
  pool.warm();
  pool.warm();
  await until(() => expect(engine.starting).toBe(2));
  engine.release("all");
  await settled(engine, 5);
  expect(engine.started).toBe(5);
  expect(engine.mostStarting).toBe(2);
});

test("sandboxes that are asked for at once are distinct, and what each said while it waited reaches its reader", async () => {
  const { engine, pool } = await useWarmPool({ size: 3 });
  const sandboxes = await Promise.all(Array.from({ length: 8 }, () => pool.acquire(NO_OUTPUT)));
  expect(new Set(sandboxes.map(({ id }) => id)).size).toBe(8);
  await turns();
  for (const { id, channel } of sandboxes) expect(await readGreeting(channel)).toBe(`hello from ${id}`);
  await settled(engine, 8 + 3);
  await Promise.all(sandboxes.map((sandbox) => sandbox.dispose()));
  await settled(engine, 3);
});

test("bytes go both ways, in order, after a sandbox was taken from the pool", async () => {
  const { engine, pool } = await useWarmPool({ size: 1 });
  const sandbox = await pool.acquire(NO_OUTPUT);
  const peer = engine.live.get(sandbox.id)?.socket;
  let heard = "";
  peer?.on("data", (chunk) => {
    heard += chunk;
  });
  peer?.write(", more");
  await turns();
  const said: string[] = [];
  sandbox.channel.on("data", (chunk) => said.push(String(chunk)));
  peer?.write(", and more");
  sandbox.channel.write("program");
  await until(() => expect(said.join("")).toBe(`hello from ${sandbox.id}, more, and more`));
  await until(() => expect(heard).toBe("program"));
});

test("a program gets what its container wrote while it waited, and what it writes later", async () => {
  const { engine, pool } = await useWarmPool({ size: 1 });
  const [container] = engine.live.values();
  const buffer = Buffer.from("warning\n");
  container?.output.onStderr(buffer);
  buffer.fill("x");
  container?.output.onStdout(Buffer.from("early\n"));
  const written: string[] = [];
  const output = {
    onStdout: (chunk: Buffer) => void written.push(`out ${chunk}`),
    onStderr: (chunk: Buffer) => void written.push(`err ${chunk}`),
  };
  await pool.acquire(output);
  container?.output.onStdout(Buffer.from("late\n"));
  expect(written).toEqual(["err warning\n", "out early\n", "out late\n"]);
});

test.each<[string, (container: FakeContainer) => void]>([
  ["writes without end", ({ output }) => output.onStderr(Buffer.alloc(70_000))],
  ["talks without end", ({ socket }) => socket?.write(Buffer.alloc(70_000))],
  ["ends", (container) => container.end(137)],
  ["exits, though its socket stays open", (container) => container.exitAndStayConnected(137)],
  ["hangs up", ({ socket }) => socket?.end()],
])("a waiting sandbox that %s is not handed out, cleared away and replaced", async (_, misbehave) => {
  const { engine, pool, folders } = await useWarmPool({ size: 2 });
  const [bad] = engine.live.values();
  if (bad === undefined) throw new Error("there is no container");
  misbehave(bad);
  await until(() => expect(bad.ended).toBe(true));
  await turns();
  const [first, second] = [await pool.acquire(NO_OUTPUT), await pool.acquire(NO_OUTPUT)];
  expect([first.id, second.id]).not.toContain(bad.id);
  await settled(engine, 4);
  expect(folders()).toHaveLength(4);
});

test("a sandbox whose end nobody has heard of yet is not handed out, and is removed", async () => {
  const { engine, pool, folders } = await useWarmPool({ size: 1 });
  const [dead] = engine.live.values();
  dead?.socket?.destroy();
  const sandbox = await pool.acquire(NO_OUTPUT);
  expect(sandbox.id).not.toBe(dead?.id);
  await settled(engine, 2);
  await until(() => expect(folders()).toHaveLength(2));
});

test("a caller of an empty pool starts a sandbox, and gets whichever is ready first", async () => {
  const { engine, pool } = usePool({ size: 2 });
  engine.hold();
  pool.warm();
  await until(() => expect(engine.starting).toBe(2));
  const asked = [pool.acquire(NO_OUTPUT), pool.acquire(NO_OUTPUT), pool.acquire(NO_OUTPUT)];
  await until(() => expect(engine.starting).toBe(5));
  engine.release("first");
  expect(await asked[0]).toMatchObject({ id: "container-1" });
  engine.release("all");
  await Promise.all(asked);
  await settled(engine, 3 + 2);
  expect(engine.started).toBe(5);
});

test("a program that comes to an empty pool has the only start until it has its sandbox; then the pool fills", async () => {
  const { engine, pool } = usePool({ size: 2 });
  engine.hold();
  const acquired = pool.acquire(NO_OUTPUT);
  await until(() => expect(engine.starting).toBe(1));
  await turns();
  expect(engine.attempts).toBe(1);
  engine.release("all");
  await acquired;
  await settled(engine, 1 + 2);
});

test("one sandbox waits for the first program of a client, and as many as the pool keeps from then on", async () => {
  const { engine, pool } = usePool({ size: 3 });
  expect(pool.isAwake).toBe(false);
  pool.wake();
  pool.wake();
  await settled(engine, 1);
  expect([pool.isAwake, engine.attempts]).toEqual([true, 1]);
  expect(await pool.acquire(NO_OUTPUT)).toMatchObject({ id: "container-1" });
  await settled(engine, 1 + 3);
  pool.wake();
  await turns();
  expect(engine.live.size).toBe(1 + 3);
});

test("a client that is there starts nothing in a pool that is off", async () => {
  const { engine, pool } = usePool({ size: 0 });
  pool.wake();
  await turns();
  expect(engine.attempts).toBe(0);
});

test("a pool of size zero starts each sandbox when it is asked for", async () => {
  const { engine, pool } = usePool({ size: 0 });
  pool.warm();
  await turns();
  expect(engine.attempts).toBe(0);
  await pool.acquire(NO_OUTPUT);
  await turns();
  expect(engine.attempts).toBe(1);
});

test("giving up an acquire rejects at once, and the sandbox that comes too late waits for the next who asks", async () => {
  const { engine, pool } = usePool({ size: 1 });
  engine.hold();
  const abort = new AbortController();
  const acquired = pool.acquire(NO_OUTPUT, abort.signal);
  await until(() => expect(engine.starting).toBe(1));
  abort.abort();
  await expect(acquired).rejects.toMatchObject({ name: "SandboxError", code: "cancelled" });
  await expect(pool.acquire(NO_OUTPUT, abort.signal)).rejects.toMatchObject({ code: "cancelled" });
  expect(engine.starting).toBe(1);
  engine.release("all");
  await settled(engine, 1);
  expect(await pool.acquire(NO_OUTPUT)).toBeDefined();
});

test("giving up one of several who wait leaves the others their sandboxes", async () => {
  const { engine, pool } = usePool({ size: 1 });
  engine.hold();
  const abort = new AbortController();
  const first = pool.acquire(NO_OUTPUT);
  const second = pool.acquire(NO_OUTPUT, abort.signal);
  const third = pool.acquire(NO_OUTPUT);
  abort.abort();
  await expect(second).rejects.toMatchObject({ code: "cancelled" });
  engine.release("all");
  expect((await first).id).not.toBe((await third).id);
  await settled(engine, 2 + 1);
});

test("a sandbox that began to start before the image was built anew does not stay in the pool", async () => {
  const { engine, pool } = usePool({ size: 2 });
  engine.hold();
  pool.warm();
  await until(() => expect(engine.starting).toBe(2));
  engine.image = "sha256:second";
  const acquired = pool.acquire(NO_OUTPUT);
  await until(() => expect(engine.starting).toBe(3));
  engine.release("last");
  expect(await acquired).toMatchObject({ image: "sha256:second" });
  engine.release("all");
  await until(() => expect(engine.started).toBe(5));
  await settled(engine, 1 + 2);
  const next = await Promise.all([pool.acquire(NO_OUTPUT), pool.acquire(NO_OUTPUT)]);
  expect(next.map(({ image }) => image)).toEqual(["sha256:second", "sha256:second"]);
});

test("a start that fails is told to nobody while another is under way that can serve them", async () => {
  const { engine, pool } = usePool({ size: 1 });
  engine.hold();
  pool.warm();
  const acquired = pool.acquire(NO_OUTPUT);
  await until(() => expect(engine.starting).toBe(2));
  engine.down = true;
  engine.release("first");
  await turns();
  engine.down = false;
  engine.release("all");
  expect(await acquired).toMatchObject({ id: "container-1" });
});

test("closing ends what waits and what is being started, and rejects who waits; twice does no harm", async () => {
  const { engine, pool, folders } = await useWarmPool({ size: 3 });
  const taken = await pool.acquire(NO_OUTPUT);
  engine.hold();
  const asked = Array.from({ length: 6 }, () => pool.acquire(NO_OUTPUT));
  const outcomes = Promise.allSettled(asked);
  await until(() => expect(engine.starting).toBeGreaterThan(3));
  const closing = [pool.close(), pool.close()];
  engine.release("all");
  await Promise.all(closing);
  const served = (await outcomes).flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  expect(engine.live.size).toBe(served.length + 1);
  await Promise.all([taken, ...served].map((sandbox) => sandbox.dispose()));
  expect([...engine.live.keys(), ...folders()]).toEqual([]);
  const ending = { code: "cancelled", message: "ptc is ending" };
  await expect(pool.acquire(NO_OUTPUT)).rejects.toMatchObject(ending);
  pool.warm();
  await turns();
  expect(engine.live.size).toBe(0);
});

test("closing does not wait for a runner that never speaks", async () => {
  const { engine, pool, folders } = usePool({ size: 2 });
  engine.greets = false;
  pool.warm();
  await until(() => expect(engine.live.size).toBe(2));
  await turns();
  await pool.close();
  expect([...engine.live.keys(), ...folders()]).toEqual([]);
});

test("a pool that is off warms one sandbox for one program, which gets it and what it wrote; the next has a start of its own", async () => {
  const { engine, pool } = usePool({ size: 0 });
  engine.hold();
  const warmed = pool.warmOne();
  await until(() => expect(engine.starting).toBe(1));
  const early = pool.acquire(NO_OUTPUT);
  const next = pool.acquire(NO_OUTPUT);
  await until(() => expect(engine.starting).toBe(2));
  engine.release("all");
  await warmed;
  expect(new Set([(await early).id, (await next).id]).size).toBe(2);

  await pool.warmOne();
  expect(pool.state).toEqual({ ready: 1, starting: 0 });
  expect(engine.started).toBe(3);
  expect(await pool.acquire(NO_OUTPUT)).toMatchObject({ id: "container-3" });
  await settled(engine, 3);
});

test("a warmed sandbox that no program takes is removed when the pool is closed", async () => {
  const { engine, pool, folders } = usePool({ size: 0 });
  await pool.warmOne();
  await pool.close();
  expect([...engine.live.keys(), ...folders()]).toEqual([]);
});

test("where no sandbox could be warmed, the program tries again itself and is told why", async () => {
  const { engine, pool } = usePool({ size: 0 });
  engine.down = true;
  await pool.warmOne();
  await expect(pool.acquire(NO_OUTPUT)).rejects.toMatchObject({ code: "engine_unreachable" });
  engine.down = false;
  await pool.acquire(NO_OUTPUT);
  expect(engine.started).toBe(1);
});

test("a program whose warmed sandbox has ended before it asked gets another", async () => {
  const { engine, pool } = usePool({ size: 0 });
  await pool.warmOne();
  for (const container of engine.live.values()) container.end(137);
  await turns();
  const asked = pool.acquire(NO_OUTPUT);
  await turns();
  expect(engine.attempts).toBe(2);
  expect(await asked).toMatchObject({ id: "container-2" });
});

test("what goes wrong as a sandbox starts is no fault of the run that asked first, for another may take it", async () => {
  const { pool, source } = usePool({ size: 0 });
  const listener = () => {};
  let isOutside: boolean | undefined;
  const acquire = source.acquire.bind(source);
  source.acquire = (...args) => {
    isOutside = inBoundary(listener) === listener;
    return acquire(...args);
  };
  const acquired = () => pool.acquire(NO_OUTPUT);
  await withinBoundary(() => true, acquired);
  expect(isOutside).toBe(true);
});

test("whoever leaves the last waiting sandbox to others has another started, and the others get the last at once", async () => {
  const { engine, pool } = await useWarmPool({ size: 2 });
  const [first, last] = [...engine.live.keys()];
  engine.hold();
  const sparing = () => pool.acquire(NO_OUTPUT, undefined, undefined, true);
  expect((await sparing()).id).toBe(first);
  let served = "";
  const waiting = sparing().then(({ id }) => {
    served = id;
  });
  await turns();
  expect(served).toBe("");
  expect((await pool.acquire(NO_OUTPUT)).id).toBe(last);
  engine.release("all");
  await waiting;
  expect([first, last]).not.toContain(served);
});

test("a sandbox is told what it is used for when a program gets it, and what is started for a program knows it at once", async () => {
  const { engine, source, pool } = usePool({ size: 1 });
  const started: unknown[] = [];
  const assigned = new Map<string, unknown>();
  const acquire = source.acquire.bind(source);
  source.acquire = async (output, signal, use) => {
    started.push(use);
    const sandbox = await acquire(output, signal, use);
    sandbox.assign = (given) => void assigned.set(sandbox.id, given);
    return sandbox;
  };
  pool.warm();
  await settled(engine, 1);
  const [one, two] = ["one", "two"].map((run) => ({ run, principal: "ann" }));
  const taken = [
    await pool.acquire(NO_OUTPUT, undefined, one),
    await pool.acquire(NO_OUTPUT, undefined, two),
  ];
  expect(taken.map(({ id }) => assigned.get(id))).toEqual([one, two]);
  expect(started[0]).toBeUndefined();
  expect(started).toContain(two);
});
