import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { QuestionAnswer, ServerQuestion, UpstreamCall } from "../../../upstream/upstream.ts";
import { eventually } from "../../eventually.ts";
import { connect, fixture, jsonOf, toolCall, upstreamErrorOf } from "../upstream-fixtures.ts";
import { openCalls } from "./scripted-session.ts";

type Ask = (question: ServerQuestion, signal: AbortSignal) => Promise<QuestionAnswer>;

const accepts = (content: Record<string, unknown> = {}) =>
  vi.fn<Ask>(async () => ({ kind: "answered", result: { action: "accept", content } }));

describe("what a server of 2025-11-25 asks in the middle of a call", () => {
  it("is put to the caller, and answered as they say", async () => {
    const connection = await connect(fixture("asks.mjs"));
    const ask = accepts({ name: "Ann" });
    const result = await connection.callTool(toolCall("form", {}, { ask }));
    expect(jsonOf(result)).toEqual({ action: "accept", content: { name: "Ann" } });
    expect(ask.mock.calls[0]?.[0]).toMatchObject({
      isCertain: true,
      params: { message: expect.stringContaining("Who are you?"), requestedSchema: { type: "object" } },
    });
    const declines: Ask = async () => ({ kind: "answered", result: { action: "decline" } });
    const declined = await connection.callTool(toolCall("visit", {}, { ask: declines }));
    expect(jsonOf(declined)).toEqual({ action: "decline" });
  });

  it("calls the call off when nobody can be asked, and tells the server", async () => {
    const connection = await connect(fixture("asks.mjs"));
    const unasked: Ask = async () => ({ kind: "unasked", reason: "asks for an input, and nobody is here" });
    const call = connection.callTool(toolCall("form", {}, { ask: unasked }));
    expect(await upstreamErrorOf(call)).toMatchObject({
      code: "input_refused",
      message: "server 'x' asks for an input, and nobody is here",
      retryable: false,
    });
    expect(await upstreamErrorOf(connection.callTool(toolCall("form")))).toMatchObject({
      code: "input_refused",
      message: expect.stringContaining("nobody can be asked here"),
    });
  });

  it("is answered with an error when it cannot be put to anybody, and the call goes on", async () => {
    const connection = await connect(fixture("asks.mjs"));
    const invalid: Ask = async () => ({ kind: "invalid", reason: "asked nonsense" });
    expect(jsonOf(await connection.callTool(toolCall("odd", {}, { ask: invalid })))).toEqual({
      error: { code: -32602, message: "asked nonsense" },
    });
    for (const tool of ["sample", "roots"]) {
      expect(jsonOf(await connection.callTool(toolCall(tool)))).toEqual({
        error: { code: -32601, message: "ptc offers no such method" },
      });
    }
  });

  it("may be the folders that the configuration gives it", async () => {
    const connection = await connect(fixture("asks.mjs"), { roots: ["/data/my project"] });
    expect(jsonOf(await connection.callTool(toolCall("roots")))).toEqual({
      roots: [{ uri: "file:///data/my%20project", name: "my project" }],
    });
  });

  it("may be a visit to an address before the call, which is then made again", async () => {
    const connection = await connect(fixture("asks.mjs"));
    const refuses: Ask = async () => ({ kind: "answered", result: { action: "decline" } });
    const refused = connection.callTool(toolCall("needs_visit", {}, { ask: refuses }));
    expect(await upstreamErrorOf(refused)).toMatchObject({
      code: "input_refused",
      message: "server 'x' needs a visit to an address first, which the user refused",
    });
    const ask = accepts();
    const again = await connect(fixture("asks.mjs"));
    expect(jsonOf(await again.callTool(toolCall("needs_visit", {}, { ask })))).toBe("paid");
    expect(ask.mock.calls[0]?.[0].params).toMatchObject({ mode: "url", url: "https://pay.example/" });
  });

  it("may be a visit that is over before the person has answered", async () => {
    const { calls, sent, answer, idOf } = openCalls();
    const { promise, resolve: give } = Promise.withResolvers<QuestionAnswer>();
    const ask = vi.fn<Ask>(() => promise);
    const call = calls.call("tools/call", { name: "go" }, toolCall("go", {}, { ask }));
    const elicitations = [{ mode: "url", url: "https://pay.example/", elicitationId: "e2" }];
    answer({ id: idOf(0), error: { code: -32042, message: "visit first", data: { elicitations } } });
    await eventually(() => expect(ask).toHaveBeenCalled());
    answer({ method: "notifications/elicitation/complete", params: { elicitationId: "e2" } });
    give({ kind: "answered", result: { action: "accept" } });
    await eventually(() => expect(sent).toHaveLength(2));
    answer({ id: idOf(1), result: { content: [] } });
    expect(await call).toEqual({ content: [] });
  });

  it("is withdrawn with the call", async () => {
    const connection = await connect(fixture("asks.mjs"));
    const controller = new AbortController();
    const withdrawn = vi.fn();
    const ask: Ask = (_, signal) => {
      signal.addEventListener("abort", withdrawn);
      controller.abort();
      return new Promise(() => {});
    };
    const call = connection.callTool(toolCall("form", {}, { signal: controller.signal, ask }));
    expect(await upstreamErrorOf(call)).toMatchObject({ code: "cancelled" });
    expect(withdrawn).toHaveBeenCalledOnce();
  });
});

describe("what a server of 2026-07-28 asks in a result", () => {
  it("is put to the caller, one question after the other, and its state goes back unchanged", async () => {
    const connection = await connect(fixture("asks-in-results.mjs"));
    const ask = accepts({ color: "red" });
    const result = await connection.callTool(toolCall("form", { a: 1 }, { ask }));
    const answer = { action: "accept", content: { color: "red" } };
    expect(jsonOf(result)).toEqual({
      inputResponses: { first: answer, second: answer },
      requestState: "s1",
      args: { a: 1 },
    });
    expect(ask).toHaveBeenCalledTimes(2);
  });

  it("ends after a few rounds", async () => {
    const connection = await connect(fixture("asks-in-results.mjs"));
    const ask = accepts({ color: "red" });
    expect(await upstreamErrorOf(connection.callTool(toolCall("endless", {}, { ask })))).toMatchObject({
      code: "protocol_error",
      message: "server 'x' asked for input more than 10 times in one call",
    });
    expect(ask).toHaveBeenCalledTimes(10);
  });

  it("may be nothing but to come again", async () => {
    const connection = await connect(fixture("asks-in-results.mjs"));
    expect(jsonOf(await connection.callTool(toolCall("put_off")))).toEqual({
      requestState: "later",
    });
  });

  it("is refused when it is what ptc does not offer", async () => {
    const connection = await connect(fixture("asks-in-results.mjs"));
    expect(await upstreamErrorOf(connection.callTool(toolCall("sample")))).toMatchObject({
      code: "input_refused",
      message: "server 'x' asked for an answer of a model (sampling), which ptc does not offer",
    });
    expect(await upstreamErrorOf(connection.callTool(toolCall("form")))).toMatchObject({
      code: "input_refused",
      message: expect.stringContaining("nobody can be asked here"),
    });
  });
});

describe("the time of a call", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A call that has been sent, and what has come of it. */
  function begin(call: Partial<UpstreamCall>) {
    const { calls, sent, answer, idOf } = openCalls();
    const outcome = vi.fn();
    calls.call("tools/call", { name: "go" }, toolCall("go", {}, call)).then(outcome, outcome);
    const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
    const _meta = sent[0]?.message.params as { _meta: { progressToken: number } };
    const { progressToken } = _meta._meta;
    const report = (progress: number) =>
      answer({ method: "notifications/progress", params: { progressToken, progress } });
    const finish = () => answer({ id: idOf(0), result: { content: [] } });
    return { sent, answer, pass, report, finish, outcome };
  }

  const late = (message: string) => expect.objectContaining({ code: "call_timeout", message });

  it("stands still while a person is asked, as long as it takes, and goes on from there", async () => {
    const ask: Ask = async () => {
      await new Promise((resolve) => setTimeout(resolve, 600_000));
      return { kind: "answered", result: { action: "cancel" } };
    };
    for (const [after, isLate] of [
      [400, false],
      [600, true],
    ] as const) {
      const { sent, answer, pass, finish, outcome } = begin({ timeoutMs: 2_000, ask });
      await pass(1_500);
      answer({ id: 7, method: "elicitation/create", params: {} });
      await pass(600_000);
      expect(sent[1]?.message).toMatchObject({ id: 7, result: { action: "cancel" } });
      await pass(after);
      finish();
      await pass(0);
      expect(outcome.mock.calls).toEqual([
        [isLate ? late("server 'x' did not answer within 2 s; it may still be at work") : { content: [] }],
      ]);
    }
  });

  it("stands still until the last of several questions is answered", async () => {
    const answers: ((answer: QuestionAnswer) => void)[] = [];
    const ask: Ask = () => new Promise((resolve) => answers.push(resolve));
    const { answer, pass, outcome } = begin({ timeoutMs: 2_000, ask });
    await pass(1_000);
    for (const id of [1, 2]) answer({ id, method: "elicitation/create", params: {} });
    for (const give of answers) {
      await pass(5_000);
      expect(outcome).not.toHaveBeenCalled();
      give({ kind: "answered", result: { action: "cancel" } });
    }
    await pass(999);
    expect(outcome).not.toHaveBeenCalled();
    await pass(1);
    expect(outcome).toHaveBeenCalledOnce();
  });

  it("begins anew with each report of progress", async () => {
    const { pass, report, finish, outcome } = begin({ timeoutMs: 1_500 });
    for (let step = 1; step <= 9; step++) {
      await pass(1_499);
      report(step);
    }
    await pass(1_499);
    finish();
    await pass(0);
    expect(outcome.mock.calls).toEqual([[{ content: [] }]]);
  });

  it.each([
    ["is up where progress ends", 0, 2, 600],
    ["is up in all, whatever progress there is", 0, 11, 500],
    ["is up in all, with what was spent before", 50, 11, 450],
  ])("%s", async (_, spentMs, reports, left) => {
    const { pass, report, outcome } = begin({ timeoutMs: 600, spentMs });
    for (let step = 0; step < reports; step++) {
      expect(outcome).not.toHaveBeenCalled();
      await pass(500);
      report(step);
    }
    await pass(left - 1);
    expect(outcome).not.toHaveBeenCalled();
    await pass(1);
    const message = `server 'x' did not answer within 0.6 s of its last progress, or 6 s in all; it may still be at work`;
    expect(outcome.mock.calls).toEqual([[late(message)]]);
  });
});

describe("a question that does not say for which call it is", () => {
  const question = { method: "elicitation/create", params: {} };
  const open = () => {
    const { calls, sent, answer, idOf } = openCalls();
    const call = (more: Partial<UpstreamCall>) =>
      calls.call("tools/call", { name: "go" }, toolCall("go", {}, more)).catch(() => {});
    return { call, sent, answer, idOf };
  };

  it("is put to the newest call, for certain where there is one alone, and is withdrawn when that is answered", async () => {
    const { call, answer, idOf } = open();
    const [older, newer] = [vi.fn<Ask>(() => new Promise(() => {})), vi.fn<Ask>(() => new Promise(() => {}))];
    void call({ ask: older });
    answer({ id: 1, ...question });
    const done = call({ ask: newer });
    answer({ id: 2, ...question });
    const certain = [older, newer].map(({ mock }) => mock.calls.map(([{ isCertain }]) => isCertain));
    expect(certain).toEqual([[true], [false]]);
    answer({ id: idOf(1), result: { content: [] } });
    await done;
    expect([older, newer].map(({ mock }) => mock.calls[0]?.[1].aborted)).toEqual([false, true]);
  });

  it("is refused where no call is open", async () => {
    const { sent, answer } = open();
    answer({ id: 1, ...question });
    const error = { code: -32603, message: "nobody waits for a call of this server" };
    await vi.waitFor(() =>
      expect(sent.map(({ message }) => message)).toEqual([{ jsonrpc: "2.0", id: 1, error }]),
    );
  });
});

it("progress of a call that was called off is not reported", async () => {
  const { calls, answer } = openCalls();
  const [stop, onProgress] = [new AbortController(), vi.fn()];
  const call = calls.call("tools/call", {}, toolCall("go", {}, { signal: stop.signal, onProgress }));
  const report = (progress: number) =>
    answer({ method: "notifications/progress", params: { progressToken: 1, progress, total: "odd" } });
  report(1);
  stop.abort();
  report(2);
  expect(await upstreamErrorOf(call)).toMatchObject({ code: "cancelled" });
  expect(onProgress.mock.calls).toEqual([[{ progress: 1 }]]);
});
