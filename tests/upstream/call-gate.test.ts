import { describe, expect, it } from "vitest";
import { CallGate, Circuit } from "../../upstream/call-gate.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";

const { signal } = new AbortController();

function gateOf(limits = { maxParallelCalls: 1, maxQueuedCalls: 100 }) {
  const gate = new CallGate("x", () => limits);
  const made: string[] = [];
  const ends: (() => void)[] = [];
  const call = (who: string, patienceMs = 60_000, own = signal) =>
    gate.pass(who.charAt(0), { patienceMs, signal: own }, async () => {
      made.push(who);
      await new Promise<void>((resolve) => ends.push(resolve));
    });
  const endOne = async () => {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { call, made, endOne };
}

describe("the calls of a server", () => {
  it("beyond those at a time wait, and principals take turns", async () => {
    const { call, made, endOne } = gateOf();
    for (const who of ["a0", "a1", "a2", "b0"]) void call(who);
    for (let n = 0; n < 4; n++) await endOne();
    expect(made).toEqual(["a0", "b0", "a1", "a2"]);
  });

  it("fail at once beyond those that may wait", async () => {
    const { call, endOne } = gateOf({ maxParallelCalls: 2, maxQueuedCalls: 1 });
    const others = ["a0", "a1", "a2"].map((who) => call(who));
    await expect(call("b0")).rejects.toMatchObject({
      code: "busy",
      retryable: true,
      message:
        "server 'x' was not sent the call: 2 calls, the most at a time, are being made, and 1 wait already; try again later",
    });
    for (const _ of others) await endOne();
    await Promise.all(others);
  });

  it("leave the queue when their time is up, or when they are cancelled", async () => {
    const { call, made, endOne } = gateOf();
    void call("a0");
    await expect(call("a1", 5)).rejects.toMatchObject({
      code: "busy",
      message:
        "server 'x' was not sent the call: 1 calls, the most at a time, are being made, and its turn did not come in 0.005 s",
    });
    const cancel = new AbortController();
    const cancelled = call("a2", 60_000, cancel.signal);
    void call("a3");
    cancel.abort();
    const message = "server 'x' was not called: the call is cancelled";
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled", message });
    await expect(call("a4", 60_000, cancel.signal)).rejects.toMatchObject({ code: "cancelled", message });
    await endOne();
    expect(made).toEqual(["a0", "a3"]);
  });

  it("that wait are not overtaken where there may be more at a time meanwhile", async () => {
    const limits = { maxParallelCalls: 1, maxQueuedCalls: 100 };
    const { call, made, endOne } = gateOf(limits);
    for (const who of ["a0", "a1"]) void call(who);
    limits.maxParallelCalls = 2;
    void call("b0");
    await new Promise((resolve) => setImmediate(resolve));
    expect(made).toEqual(["a0"]);
    await endOne();
    expect(made.toSorted()).toEqual(["a0", "a1", "b0"]);
  });
});

describe("a server that does not answer", () => {
  function setUp() {
    const clock = { time: 0, monotonicMs: () => clock.time };
    const circuit = new Circuit("x", clock);
    let made = 0;
    const fail = (
      code: "call_timeout" | "disconnected" | "remote_error" | "login_required" = "call_timeout",
    ) =>
      circuit.through(async () => {
        made++;
        throw new UpstreamError(code, "no answer");
      });
    const failed = async (times: number) => {
      for (let n = 0; n < times; n++) await expect(fail()).rejects.toMatchObject({ code: "call_timeout" });
    };
    return { clock, circuit, fail, failed, made: () => made };
  }

  it("is not called for a while after five calls in a row, then tried by one, and longer each time", async () => {
    const { clock, circuit, fail, failed, made } = setUp();
    await failed(5);
    await expect(fail()).rejects.toMatchObject({
      code: "backing_off",
      message: "server 'x' has not answered 5 calls in a row; it is tried again in 1 s",
    });
    expect(made()).toBe(5);
    clock.time += 1_000;
    const trying = Promise.withResolvers<void>();
    const tried = circuit.through(() => trying.promise);
    await expect(fail()).rejects.toMatchObject({ message: expect.stringContaining("being tried again now") });
    trying.reject(new UpstreamError("disconnected", "gone"));
    await expect(tried).rejects.toMatchObject({ code: "disconnected" });
    await expect(fail()).rejects.toMatchObject({ message: expect.stringContaining("in 2 s") });
  });

  it("is called as usual once it has answered, be it with an error", async () => {
    const { clock, circuit, fail, failed } = setUp();
    await failed(5);
    clock.time += 1_000;
    expect(await circuit.through(async () => "answer")).toBe("answer");
    await failed(4);
    await expect(fail("remote_error")).rejects.toMatchObject({ code: "remote_error" });
    await failed(5);
    await expect(fail()).rejects.toMatchObject({ code: "backing_off" });
  });

  it("is not taken for one because of logins and the like", async () => {
    const { fail, failed } = setUp();
    await failed(4);
    for (let n = 0; n < 9; n++)
      await expect(fail("login_required")).rejects.toMatchObject({ code: "login_required" });
    await failed(1);
  });
});
