import { describe, expect, it, onTestFinished, vi } from "vitest";
import { inBoundary } from "../../base/faults.ts";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import type { Upstream, UpstreamConnection } from "../../upstream/upstream.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { UpstreamPool } from "../../upstream/upstream-pool.ts";
import { eventually } from "../eventually.ts";
import { BACKOFF, FakeConnection, go, NO_CREDENTIALS, poolOf, setUp } from "./fake-connection.ts";
import { connect, fixture, isAlive, jsonOf, toolCall, upstreamErrorOf } from "./upstream-fixtures.ts";

function useFakeTimers(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}

describe("a pool that is closed", () => {
  it("ends its servers and starts none again", async () => {
    const { connections, connect, pool, upstream } = setUp();
    await go(upstream);
    await pool.close();
    expect(connections[0]?.closed).toBe(true);
    for (const each of [upstream, pool.get("another principal", "x") as Upstream])
      expect(await upstreamErrorOf(go(each))).toMatchObject({ code: "cancelled" });
    expect(connect).toHaveBeenCalledOnce();
  });

  it("ends a server that is being started, however late it is done", async () => {
    const { connect, pool, upstream } = setUp();
    const late = new FakeConnection();
    connect.mockImplementationOnce(
      (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(late))),
    );
    const call = upstreamErrorOf(go(upstream));
    await eventually(() => expect(connect).toHaveBeenCalledOnce());
    await pool.close();
    expect(await call).toMatchObject({ code: "cancelled" });
    expect(late.closed).toBe(true);
  });
});

describe("a real server in the pool", () => {
  it("is shared, and started anew when a call has ended it", async () => {
    const pids: number[] = [];
    const onSpawn = (pid: number) => pids.push(pid);
    const { pool, upstream } = poolOf({ connect: () => connect(fixture("dies-on-call.mjs"), { onSpawn }) });
    await Promise.all([upstream.list(), upstream.list(), upstream.list()]);
    expect(pids).toHaveLength(1);
    const message = "server 'x' exited with code 7: out of luck";
    expect(await upstreamErrorOf(go(upstream))).toMatchObject({ message });
    expect((await upstream.list()).tools).toHaveLength(1);
    expect(pids).toHaveLength(2);
    await upstreamErrorOf(go(upstream));
    const paused = { message: `${message}; it will be tried again in 1 s` };
    expect(await upstreamErrorOf(go(upstream))).toMatchObject(paused);
    expect(pids).toHaveLength(2);
    await pool.close();
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("is gone with its children when the pool is closed", async () => {
    const { pool, upstream } = poolOf({ connect: () => connect(fixture("stubborn.mjs")) });
    const pids = jsonOf(await go(upstream)) as number[];
    await pool.close();
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });
});

const LOST = new UpstreamError("disconnected", "server 'x' exited with code 1");

describe("a server in the pool", () => {
  it("is known by its name", () => {
    const { pool, upstream } = setUp();
    expect(pool.get(LOCAL_PRINCIPAL, "y")).toBeUndefined();
    expect(pool.get(LOCAL_PRINCIPAL, "x")).toBe(upstream);
  });

  it("is never started when it is off, and says why without a pause", async () => {
    const connect = vi.fn();
    const { upstream } = poolOf({ off: "TOKEN is not set", connect });
    const error = { code: "off", message: "server 'x' is off: TOKEN is not set", retryable: false };
    for (let i = 0; i < 3; i++) expect(await upstreamErrorOf(go(upstream))).toMatchObject(error);
    expect(connect).not.toHaveBeenCalled();
  });

  it("is started on its first use, once for all who use it", async () => {
    const { connect, upstream } = setUp();
    expect(connect).not.toHaveBeenCalled();
    const [a, b, listing] = await Promise.all([go(upstream), go(upstream), upstream.list()]);
    await go(upstream);
    expect(connect).toHaveBeenCalledOnce();
    expect(a).toEqual({ tool: "go", args: {} });
    expect(b).toEqual(a);
    expect(listing).toEqual({
      implementation: { name: "fake", version: "1" },
      protocolVersion: "2025-11-25",
      tools: [{ name: "go" }],
    });
  });

  it.each([false, true])(
    "is ended by a fault in what is done for it, and started again (old: %j)",
    async (isOld) => {
      const { connections, connect, upstream } = setUp();
      let fault = () => {};
      connect.mockImplementationOnce(async () => {
        const connection = new FakeConnection();
        connections.push(connection);
        fault = inBoundary(() => {
          throw new Error("planted");
        });
        return connection;
      });
      const changes: string[] = [];
      upstream.onToolsChanged((change) => changes.push(change));
      await go(upstream);
      const [first = expect.fail()] = connections;
      const held = first.hold();
      void go(upstream);
      await eventually(() => expect(held.isCalled).toBe(true));
      if (isOld) upstream.renew();
      expect(first.closed).toBe(false);
      fault();
      expect(first.closed).toBe(true);
      expect(changes).toEqual(isOld ? [] : ["disconnected"]);
      await go(upstream);
      expect(connections).toHaveLength(2);
      expect(fault, "what comes later is nobody's").toThrow("planted");
      expect(connections[1]?.closed).toBe(false);
    },
  );

  it("fails to start by a fault on the way, which says so", async () => {
    const { connect, upstream } = setUp();
    connect.mockImplementationOnce((signal) => {
      const stop = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("aborted")));
      });
      setImmediate(
        inBoundary(() => {
          throw new Error("planted");
        }),
      );
      return stop;
    });
    await expect(go(upstream)).rejects.toThrow("server 'x' was ended: ptc could not go on with it (planted)");
  });

  it("is ended when nobody has used it for a while, and started again on its next use", async () => {
    useFakeTimers();
    const { connect, connections, upstream } = setUp({ idleMs: 1_000 });
    const changes: string[] = [];
    upstream.onToolsChanged((change) => changes.push(change));
    await go(upstream);
    await vi.advanceTimersByTimeAsync(900);
    const [connection = expect.fail()] = connections;
    const held = connection.hold();
    const slow = go(upstream);
    await vi.advanceTimersByTimeAsync(5_000);
    await upstream.list();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(connection.closed).toBe(false);
    held.answer({ tool: "go", args: {} });
    await slow;
    await vi.advanceTimersByTimeAsync(999);
    expect({ closed: connection.closed, changes }).toEqual({ closed: false, changes: [] });
    await vi.advanceTimersByTimeAsync(1);
    expect({ closed: connection.closed, changes }).toEqual({ closed: true, changes: ["disconnected"] });
    await go(upstream);
    expect(connect).toHaveBeenCalledTimes(2);
  });

  it("goes on starting for others when one that waits for it gives up", async () => {
    const { connect, upstream } = setUp();
    const { promise: started, resolve: finish } = Promise.withResolvers<UpstreamConnection>();
    connect.mockReturnValueOnce(started);
    const controller = new AbortController();
    const impatient = upstreamErrorOf(upstream.call(toolCall("go", {}, { signal: controller.signal })));
    const patient = go(upstream);
    controller.abort();
    expect(await impatient).toMatchObject({ code: "cancelled" });
    finish(new FakeConnection());
    await patient;
    expect(connect).toHaveBeenCalledOnce();
  });

  it("is not started for a call that is cancelled by then", async () => {
    const { connect, upstream } = setUp();
    const late = upstream.call(toolCall("go", {}, { signal: AbortSignal.abort() }));
    expect(await upstreamErrorOf(late)).toMatchObject({ code: "cancelled" });
    expect(connect).not.toHaveBeenCalled();
  });

  it("never has a call made twice", async () => {
    const { connections, upstream } = setUp();
    await go(upstream);
    const callTool = vi.fn(() => Promise.reject(LOST));
    if (connections[0] !== undefined) connections[0].callTool = callTool;
    expect(await upstreamErrorOf(go(upstream))).toBe(LOST);
    expect(callTool).toHaveBeenCalledOnce();
    expect(connections).toHaveLength(1);
  });

  it("reports changed tools across connections, until the listener is removed", async () => {
    const { connections, upstream } = setUp();
    const early = vi.fn();
    const remove = upstream.onToolsChanged(early);
    await go(upstream);
    connections[0]?.changeTools();
    expect(early).toHaveBeenCalledTimes(1);
    // A server that comes back may be another version of itself.
    connections[0]?.lose(LOST);
    expect(early).toHaveBeenCalledTimes(2);
    await go(upstream);
    connections[1]?.changeTools();
    expect(early).toHaveBeenCalledTimes(3);
    remove();
    connections[1]?.changeTools();
    expect(early).toHaveBeenCalledTimes(3);
  });

  it("is restarted by `renew`, while calls on the earlier connection end as they would have", async () => {
    const { connections, upstream } = setUp();
    await go(upstream);
    const [first = expect.fail()] = connections;
    const held = first.hold();
    const changed = vi.fn();
    upstream.onToolsChanged(changed);
    const calls = [go(upstream), go(upstream)];
    await eventually(() => expect(held.isCalled).toBe(true));
    upstream.renew();
    await go(upstream);
    expect(connections.map(({ closed }) => closed)).toEqual([false, false]);
    first.changeTools();
    expect(changed).not.toHaveBeenCalled();
    held.answer({ tool: "late", args: {} });
    expect(await calls[1]).toEqual({ tool: "late", args: {} });
    expect(first.closed).toBe(false);
    await upstream.close();
    expect(connections.map(({ closed }) => closed)).toEqual([true, true]);
  });

  it("has an old connection ended with the last call on it, or at once", async () => {
    const { connections, upstream } = setUp();
    const call = go(upstream);
    await eventually(() => expect(connections).toHaveLength(1));
    upstream.renew();
    await call;
    await eventually(() => expect(connections[0]?.closed).toBe(true));
    await go(upstream);
    upstream.renew();
    expect(connections[1]?.closed).toBe(true);
  });

  it("can be closed and used again", async () => {
    const { connections, upstream } = setUp();
    await go(upstream);
    await upstream.close();
    expect(connections[0]?.closed).toBe(true);
    await go(upstream);
    expect(connections).toHaveLength(2);
  });
});

it("fails a call at its time limit when its server still starts, and the start goes on for others", async () => {
  useFakeTimers();
  const { promise: started, resolve: finish } = Promise.withResolvers<UpstreamConnection>();
  const connect = vi.fn(() => started);
  const clock = { monotonicMs: () => performance.now() };
  const upstream = new UpstreamPool([{ name: "x", connect }], NO_CREDENTIALS, clock).get(
    LOCAL_PRINCIPAL,
    "x",
  );
  const hasty = upstreamErrorOf(
    upstream?.call(toolCall("go", {}, { timeoutMs: 3_000 })) ?? Promise.resolve(),
  );
  const patient = upstream?.call(toolCall("go", {}, { timeoutMs: 10_000 }));
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await hasty).toMatchObject({
    code: "connect_timeout",
    retryable: true,
    message: expect.stringContaining("it has not started within 3 s, the time limit of a call"),
  });
  await vi.advanceTimersByTimeAsync(2_000);
  const connection = new FakeConnection();
  const callTool = vi.spyOn(connection, "callTool");
  finish(connection);
  expect(await patient).toEqual({ tool: "go", args: {} });
  const sent = { tool: "go", arguments: {}, timeoutMs: 10_000, spentMs: 5_000 };
  expect(callTool).toHaveBeenCalledWith(expect.objectContaining(sent));
  expect(connect).toHaveBeenCalledOnce();
});

describe("a server that fails", () => {
  it("is started again on the next use after its first loss, then after growing pauses", async () => {
    const { clock, connections, connect, upstream } = setUp();
    const lose = () => connections.at(-1)?.lose(LOST);
    await go(upstream);
    lose();
    await go(upstream);
    expect(connect).toHaveBeenCalledTimes(2);
    for (const pauseMs of [1_000, 2_000, 4_000, 5_000, 5_000]) {
      lose();
      const before = connect.mock.calls.length;
      clock.time += pauseMs - 1;
      expect(await upstreamErrorOf(go(upstream))).toMatchObject({
        code: "backing_off",
        message: "server 'x' exited with code 1; it will be tried again in 1 s",
        retryable: true,
      });
      expect(connect).toHaveBeenCalledTimes(before);
      clock.time += 1;
      await go(upstream);
      expect(connect).toHaveBeenCalledTimes(before + 1);
    }
  });

  it("is forgiven its losses after a connection that lasted", async () => {
    const { clock, connections, connect, upstream } = setUp();
    await go(upstream);
    connections.at(-1)?.lose(LOST);
    await go(upstream);
    clock.time += BACKOFF.stableMs;
    connections.at(-1)?.lose(LOST);
    await go(upstream);
    expect(connect).toHaveBeenCalledTimes(3);
  });

  it("is not started again at once when it could not be started", async () => {
    const { clock, connect, upstream } = setUp();
    const message = "server 'x' did not start";
    connect.mockRejectedValueOnce(new UpstreamError("start_failed", message));
    const both = await Promise.all([upstreamErrorOf(go(upstream)), upstreamErrorOf(go(upstream))]);
    expect(both.map((error) => error.message)).toEqual([message, message]);
    expect(await upstreamErrorOf(upstream.list())).toMatchObject({
      code: "backing_off",
      message: `${message}; it will be tried again in 1 s`,
      retryable: true,
    });
    expect(connect).toHaveBeenCalledOnce();
    clock.time += 1_000;
    await go(upstream);
    expect(connect).toHaveBeenCalledTimes(2);
  });
});

describe("a server that is started ahead", () => {
  const failure = new UpstreamError("start_failed", "server 'x' did not start");

  it("is there for its first use, and ended where none comes in time", async () => {
    useFakeTimers();
    const { connections, connect, upstream } = setUp({ idleMs: 1_000 });
    await upstream.startAhead();
    await upstream.list();
    expect(connect).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(1_000);
    await upstream.startAhead();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(connections.map(({ closed }) => closed)).toEqual([true, true]);
  });

  it("tells its failure to the first who uses it, and to nobody who starts it ahead", async () => {
    const { connect, upstream } = setUp();
    connect.mockRejectedValueOnce(failure);
    await expect(upstream.startAhead()).rejects.toBe(failure);
    expect(await upstreamErrorOf(upstream.startAhead())).toMatchObject({ code: "backing_off" });
    expect(await upstreamErrorOf(go(upstream))).toBe(failure);
    expect(await upstreamErrorOf(go(upstream))).toMatchObject({ code: "backing_off" });
    expect(connect).toHaveBeenCalledOnce();
  });

  it("tells its failure once to those who waited for it", async () => {
    const { connect, upstream } = setUp();
    connect.mockRejectedValueOnce(failure);
    const ahead = upstream.startAhead();
    expect(await upstreamErrorOf(go(upstream))).toBe(failure);
    await expect(ahead).rejects.toBe(failure);
    expect(await upstreamErrorOf(go(upstream))).toMatchObject({ code: "backing_off" });
  });

  it("is tried again by a use that comes after the pause", async () => {
    const { clock, connect, upstream } = setUp();
    connect.mockRejectedValueOnce(failure);
    await expect(upstream.startAhead()).rejects.toBe(failure);
    clock.time += 1_000;
    await go(upstream);
    expect(connect).toHaveBeenCalledTimes(2);
  });
});

/** A pool of three servers, and what replaces them. */
function openThree() {
  const connections = new Map<string, FakeConnection[]>();
  const source = (name: string, identity = "as it was") => ({
    name,
    identity,
    async connect() {
      const connection = new FakeConnection();
      connections.set(name, [...(connections.get(name) ?? []), connection]);
      return connection;
    },
  });
  const sources = ["same", "changed", "gone"].map((name) => source(name));
  const pool = new UpstreamPool(sources, NO_CREDENTIALS, { monotonicMs: () => 0 });
  const of = (name: string) => pool.get(LOCAL_PRINCIPAL, name) as Upstream;
  const replace = () =>
    pool.replace([source("same"), source("changed", "anew"), source("added")], NO_CREDENTIALS);
  return { pool, of, connections, replace };
}

it("keeps servers that are as they were, ends changed ones and those that are gone, and starts new ones", async () => {
  const { pool, of, connections, replace } = openThree();
  const before = ["same", "changed", "gone"].map(of);
  await Promise.all(before.map(go));
  replace();
  expect(of("same")).toBe(before[0]);
  expect(of("changed")).not.toBe(before[1]);
  expect(pool.get(LOCAL_PRINCIPAL, "gone")).toBeUndefined();
  await Promise.all(["same", "changed", "added"].map((name) => go(of(name))));
  expect([...connections].map(([name, made]) => [name, made.map(({ closed }) => closed)])).toEqual([
    ["same", [false]],
    ["changed", [true, false]],
    ["gone", [true]],
    ["added", [false]],
  ]);
  await pool.close();
  expect([...connections.values()].flat().every(({ closed }) => closed)).toBe(true);
});

it("lets a call that is under way come to its end, and refuses the next on the same server with the reason", async () => {
  const { of, connections, replace } = openThree();
  const gone = of("gone");
  await go(gone);
  const [connection = expect.fail()] = connections.get("gone") ?? [];
  const held = connection.hold();
  const call = go(gone);
  await eventually(() => expect(held.isCalled).toBe(true));
  replace();
  expect(connection.closed).toBe(false);
  const message = "server 'gone' is not used: it is no longer configured";
  expect(await upstreamErrorOf(go(gone))).toMatchObject({ message });
  held.answer({ tool: "go", args: {} });
  await call;
  expect(connection.closed).toBe(true);
});

it("ends a server that is still being started", async () => {
  const { pool, of, connections, replace } = openThree();
  const call = upstreamErrorOf(go(of("changed")));
  replace();
  expect(await call).toMatchObject({ code: "cancelled" });
  await eventually(() =>
    expect(connections.get("changed")?.every(({ closed }) => closed) ?? true).toBe(true),
  );
  await pool.close();
});
