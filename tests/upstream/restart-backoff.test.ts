import { describe, expect, it } from "vitest";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { BACKOFF, go, setUp } from "./fake-connection.ts";
import { upstreamErrorOf } from "./upstream-fixtures.ts";

const LOST = new UpstreamError("disconnected", "server 'x' exited with code 1");

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
});
