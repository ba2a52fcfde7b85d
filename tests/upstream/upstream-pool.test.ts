import { describe, expect, it } from "vitest";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { UpstreamPool } from "../../upstream/upstream-pool.ts";
import { eventually } from "../eventually.ts";
import { FakeConnection, go, NO_CREDENTIALS, setUp } from "./fake-connection.ts";
import { connect, fixture, isAlive, jsonOf, upstreamErrorOf } from "./upstream-fixtures.ts";

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
    await eventually(() => expect(connect).toHaveBeenCalledOnce());
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
    const pool = new UpstreamPool([source], NO_CREDENTIALS, { monotonicMs: () => 0 });
    const upstream = pool.get(LOCAL_PRINCIPAL, "x") as Upstream;
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
    const pool = new UpstreamPool(
      [{ name: "x", connect: () => connect(fixture("stubborn.mjs")) }],
      NO_CREDENTIALS,
      {
        monotonicMs: () => 0,
      },
    );
    const pids = jsonOf(await go(pool.get(LOCAL_PRINCIPAL, "x") as Upstream)) as number[];
    await pool.close();
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });
});
