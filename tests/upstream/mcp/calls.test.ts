import { describe, expect, it, vi } from "vitest";
import { eventually } from "../../eventually.ts";
import { connect, fixture, isAlive, jsonOf, toolCall, upstreamErrorOf } from "../upstream-fixtures.ts";

describe("a call", () => {
  it("resolves with the result as it came, valid or not", async () => {
    const connection = await connect(fixture("odd-results.mjs"));
    expect(await connection.callTool(toolCall("odd"))).toEqual({
      content: "not a list",
      structuredContent: 5,
      own: { kept: true },
      isError: "maybe",
    });
  });

  it.each([
    ["text", "protocol_error", "server 'x' answered a call with something that is no tool result"],
    ["null", "protocol_error", "server 'x' answered a call with something that is no tool result"],
    ["odd_error", "protocol_error", "server 'x' answered with an error that is no JSON-RPC error"],
    ["deep", "protocol_error", "server 'x' answered with a message that nests deeper than 128 levels"],
    ["error", "remote_error", "server 'x' rejected the request: no such tool [redacted] (-32602)"],
  ])("fails in one line when the answer is %s", async (tool, code, message) => {
    const connection = await connect(fixture("odd-results.mjs", { env: { TOKEN: "t0ken-value" } }));
    const error = await upstreamErrorOf(connection.callTool(toolCall(tool)));
    expect(error).toMatchObject({ code, message, retryable: false });
    // It is the call that failed, not the connection.
    expect((await connection.list()).tools).toHaveLength(1);
  });

  it("is called off at its time limit", async () => {
    const connection = await connect(fixture("slow-tool.mjs"));
    const call = connection.callTool(toolCall("wait", {}, { timeoutMs: 50 }));
    expect(await upstreamErrorOf(call)).toMatchObject({
      code: "call_timeout",
      message: "server 'x' did not answer within 0.05 s; it may still be at work",
      retryable: true,
    });
    const { waiting, cancelled } = jsonOf(await connection.callTool(toolCall("cancelled"))) as {
      waiting: number[];
      cancelled: number[];
    };
    expect(waiting).toHaveLength(1);
    expect(cancelled).toEqual(waiting);
  });

  it("has what is left of its time, and says where the rest went", async () => {
    const connection = await connect(fixture("slow-tool.mjs"));
    const options = { timeoutMs: 2_050, spentMs: 2_000 };
    expect(await upstreamErrorOf(connection.callTool(toolCall("wait", {}, options)))).toMatchObject({
      code: "call_timeout",
      message:
        "server 'x' did not answer within 2.05 s, of which starting it and listing its tools took 2.0 s; it may still be at work",
    });
    const none = { timeoutMs: 2_000, spentMs: 2_000 };
    expect(await upstreamErrorOf(connection.callTool(toolCall("wait", {}, none)))).toMatchObject({
      code: "connect_timeout",
      message: expect.stringMatching(/^server 'x' was not sent the call: /),
    });
  });

  it("is called off when its signal aborts", async () => {
    const connection = await connect(fixture("slow-tool.mjs"));
    const controller = new AbortController();
    const call = connection.callTool(toolCall("wait", {}, { signal: controller.signal }));
    await eventually(async () => {
      const value = jsonOf(await connection.callTool(toolCall("cancelled")));
      expect(value).toMatchObject({ waiting: [expect.any(Number)] });
    });
    controller.abort();
    expect(await upstreamErrorOf(call)).toMatchObject({ code: "cancelled", retryable: false });
    const value = jsonOf(await connection.callTool(toolCall("cancelled"))) as Record<string, unknown>;
    expect(value.cancelled).toEqual(value.waiting);
    const late = connection.callTool(toolCall("wait", {}, { signal: controller.signal }));
    expect(await upstreamErrorOf(late)).toMatchObject({ code: "cancelled" });
  });

  it("fails when the answer is too large, and only it", async () => {
    const connection = await connect(fixture("large-answer.mjs"), { maxMessageBytes: 100_000 });
    const call = (bytes: number) => connection.callTool(toolCall("go", { bytes }));
    const { pid } = jsonOf(await call(10)) as { pid: number };
    expect(await upstreamErrorOf(call(150_000))).toMatchObject({
      code: "protocol_error",
      message: "server 'x' answered with a message too large to read; ask it for less at a time",
    });
    expect(jsonOf(await call(10))).toMatchObject({ pid });
  });

  it("fails with the server that dies of it, saying how", async () => {
    const connection = await connect(fixture("dies-on-call.mjs"));
    const lost = vi.fn();
    connection.onLost(lost);
    const error = await upstreamErrorOf(connection.callTool(toolCall("go")));
    expect(error).toMatchObject({
      code: "disconnected",
      message: "server 'x' exited with code 7: out of luck",
      retryable: true,
    });
    expect(lost).toHaveBeenCalledOnce();
    expect(await upstreamErrorOf(connection.callTool(toolCall("go")))).toMatchObject({
      code: "disconnected",
    });
  });

  it("fails when the answer never ends, and its server is ended", async () => {
    const pids: number[] = [];
    const connection = await connect(fixture("endless-line.mjs"), {
      maxMessageBytes: 100_000,
      onSpawn: (pid) => pids.push(pid),
    });
    expect(await upstreamErrorOf(connection.callTool(toolCall("go")))).toMatchObject({
      code: "disconnected",
      message:
        "server 'x' answered with a message too large to read, and was ended; ask it for less at a time",
    });
    expect(pids.filter(isAlive)).toEqual([]);
  });
});

it("a server that reads nothing more is ended before it costs much memory", async () => {
  const pids: number[] = [];
  const connection = await connect(fixture("deaf.mjs"), { onSpawn: (pid) => pids.push(pid) });
  const args = { filler: "x".repeat(10 * 1024 * 1024) };
  const calls = Array.from({ length: 9 }, () =>
    upstreamErrorOf(connection.callTool(toolCall("go", args, { timeoutMs: 100_000 }))),
  );
  const faults = await Promise.all(calls);
  expect(new Set(faults.map(({ code }) => code))).toEqual(new Set(["disconnected"]));
  expect(faults.map(({ message }) => message)).toContain(
    "server 'x' did not read what it was sent, and was ended",
  );
  await eventually(() => expect(pids.filter(isAlive)).toEqual([]));
});
