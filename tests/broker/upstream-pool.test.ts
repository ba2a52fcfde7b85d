import { describe, expect, it, vi } from "vitest";
import type { Upstream, UpstreamConnection } from "../../broker/upstream.ts";
import { UpstreamError } from "../../broker/upstream-error.ts";
import { type Backoff, UpstreamPool } from "../../broker/upstream-pool.ts";
import { callOptions, connect, fixture, isAlive, jsonOf, upstreamErrorOf } from "./upstream-fixtures.ts";

/** A connection that does as it is told. */
class FakeConnection implements UpstreamConnection {
  readonly implementation = { name: "fake", version: "1" };
  readonly protocolVersion = "2025-11-25";
  closed = false;
  lose: (reason: UpstreamError) => void = () => {};
  changeTools: () => void = () => {};
  listTools = async () => [{ name: "go" }];
  callTool = async (tool: string, args: unknown) => ({ tool, args });

  onToolsChanged(listener: () => void): void {
    this.changeTools = listener;
  }

  onLost(listener: (reason: UpstreamError) => void): void {
    this.lose = listener;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

const BACKOFF: Backoff = { firstMs: 1_000, maxMs: 5_000, stableMs: 60_000 };
const LOST = new UpstreamError("disconnected", "server 'x' exited with code 1");

function setUp(options: { idleMs?: number } = {}) {
  const clock = { time: 0, now: () => clock.time };
  const connections: FakeConnection[] = [];
  const connect = vi.fn(async (_signal: AbortSignal): Promise<UpstreamConnection> => {
    const connection = new FakeConnection();
    connections.push(connection);
    return connection;
  });
  const pool = new UpstreamPool([{ name: "x", connect }], clock, { backoff: BACKOFF, ...options });
  return { clock, connections, connect, pool, upstream: pool.get("x") as Upstream };
}

const go = (upstream: Upstream) => upstream.call("go", {}, callOptions());

describe("a server in the pool", () => {
  it("is known by its name", () => {
    const { pool, upstream } = setUp();
    expect(pool.get("y")).toBeUndefined();
    expect(pool.all()).toEqual([upstream]);
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

  it("is ended when nobody has used it for a while, and started again on its next use", async () => {
    vi.useFakeTimers();
    try {
      const { connect, connections, upstream } = setUp({ idleMs: 1_000 });
      const changes: string[] = [];
      upstream.onToolsChanged((change) => changes.push(change));
      let answer = (_: { tool: string; args: unknown }) => {};
      await go(upstream);
      await vi.advanceTimersByTimeAsync(900);
      const [connection] = connections;
      if (connection !== undefined) {
        connection.callTool = () =>
          new Promise((resolve) => {
            answer = resolve;
          });
      }
      const slow = go(upstream);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(connection?.closed).toBe(false);
      answer({ tool: "go", args: {} });
      await slow;
      await vi.advanceTimersByTimeAsync(999);
      expect({ closed: connection?.closed, changes }).toEqual({ closed: false, changes: [] });
      await vi.advanceTimersByTimeAsync(1);
      expect({ closed: connection?.closed, changes }).toEqual({ closed: true, changes: ["disconnected"] });
      await go(upstream);
      expect(connect).toHaveBeenCalledTimes(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it("goes on starting for others when one that waits for it gives up", async () => {
    const { connect, connections, upstream } = setUp();
    let finish = () => {};
    connect.mockImplementationOnce(async () => {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      const connection = new FakeConnection();
      connections.push(connection);
      return connection;
    });
    const controller = new AbortController();
    const impatient = upstreamErrorOf(upstream.call("go", {}, callOptions({ signal: controller.signal })));
    const patient = go(upstream);
    controller.abort();
    expect(await impatient).toMatchObject({ code: "cancelled" });
    finish();
    await patient;
    expect(connect).toHaveBeenCalledOnce();
  });

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
    connect.mockRejectedValueOnce(new UpstreamError("start_failed", "server 'x' did not start"));
    const both = await Promise.all([upstreamErrorOf(go(upstream)), upstreamErrorOf(go(upstream))]);
    expect(both.map(({ message }) => message)).toEqual([
      "server 'x' did not start",
      "server 'x' did not start",
    ]);
    expect(await upstreamErrorOf(upstream.list())).toMatchObject({
      code: "backing_off",
      message: "server 'x' did not start; it will be tried again in 1 s",
      retryable: true,
    });
    expect(connect).toHaveBeenCalledOnce();
    clock.time += 1_000;
    await go(upstream);
    expect(connect).toHaveBeenCalledTimes(2);
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

  it("tells of changed tools across connections, until the listener is removed", async () => {
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

  it("is started anew when it is to be, while calls on the connection before end as they would have", async () => {
    const { connections, upstream } = setUp();
    await go(upstream);
    let answer = (_: { tool: string; args: unknown }) => {};
    const [first] = connections;
    if (first !== undefined) {
      first.callTool = () =>
        new Promise((resolve) => {
          answer = resolve;
        });
    }
    const changed = vi.fn();
    upstream.onToolsChanged(changed);
    const calls = [go(upstream), go(upstream)];
    await vi.waitFor(() => expect(answer).not.toHaveLength(0));
    upstream.renew();
    await go(upstream);
    expect(connections.map(({ closed }) => closed)).toEqual([false, false]);
    first?.changeTools();
    expect(changed).not.toHaveBeenCalled();
    answer({ tool: "late", args: {} });
    expect(await calls[1]).toEqual({ tool: "late", args: {} });
    expect(first?.closed).toBe(false);
    await upstream.close();
    expect(connections.map(({ closed }) => closed)).toEqual([true, true]);
  });

  it("has an old connection ended with the last call on it, or at once", async () => {
    const { connections, upstream } = setUp();
    const call = go(upstream);
    await vi.waitFor(() => expect(connections).toHaveLength(1));
    upstream.renew();
    await call;
    await vi.waitFor(() => expect(connections[0]?.closed).toBe(true));
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

describe("a pool that is closed", () => {
  it("ends its servers and starts none again", async () => {
    const { connections, connect, pool, upstream } = setUp();
    await go(upstream);
    await pool.close();
    expect(connections[0]?.closed).toBe(true);
    expect(await upstreamErrorOf(go(upstream))).toMatchObject({ code: "cancelled" });
    expect(connect).toHaveBeenCalledOnce();
  });

  it("ends a server that is being started, however late it is done", async () => {
    const { connect, pool, upstream } = setUp();
    const late = new FakeConnection();
    connect.mockImplementationOnce(
      (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(late))),
    );
    const call = upstreamErrorOf(go(upstream));
    await pool.close();
    expect(await call).toMatchObject({ code: "cancelled" });
    expect(late.closed).toBe(true);
  });
});

describe("a real server in the pool", () => {
  it("is shared, and started anew when a call has ended it", async () => {
    const pids: number[] = [];
    const source = {
      name: "x",
      connect: () => connect(fixture("dies-on-call.mjs"), { onSpawn: (pid) => pids.push(pid) }),
    };
    const pool = new UpstreamPool([source], { now: () => 0 });
    const upstream = pool.get("x") as Upstream;
    await Promise.all([upstream.list(), upstream.list(), upstream.list()]);
    expect(pids).toHaveLength(1);
    expect(await upstreamErrorOf(go(upstream))).toMatchObject({
      message: "server 'x' exited with code 7: out of luck",
    });
    expect((await upstream.list()).tools).toHaveLength(1);
    expect(pids).toHaveLength(2);
    await upstreamErrorOf(go(upstream));
    expect(await upstreamErrorOf(go(upstream))).toMatchObject({
      message: "server 'x' exited with code 7: out of luck; it will be tried again in 1 s",
    });
    expect(pids).toHaveLength(2);
    await pool.close();
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("is gone with its children when the pool is closed", async () => {
    const pool = new UpstreamPool([{ name: "x", connect: () => connect(fixture("stubborn.mjs")) }], {
      now: () => 0,
    });
    const pids = jsonOf(await go(pool.get("x") as Upstream)) as number[];
    await pool.close();
    await vi.waitFor(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });
});
