import { describe, expect, it, vi } from "vitest";
import type { QuestionAnswer, ServerQuestion } from "../../../upstream/upstream.ts";
import { connect, fixture, jsonOf, toolCall, upstreamErrorOf } from "../upstream-fixtures.ts";

type Ask = (question: ServerQuestion, signal: AbortSignal) => Promise<QuestionAnswer>;

const accepts = (content: Record<string, unknown> = {}) =>
  vi.fn<Ask>(async () => ({ kind: "answered", result: { action: "accept", content } }));

describe("what a server of 2025-11-25 asks in the middle of a call", () => {
  it("is put to whoever made the call, and answered as they say", async () => {
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

  it("takes a person as long as it takes: the call's time stands still", async () => {
    const connection = await connect(fixture("asks.mjs"));
    const ask: Ask = async () => {
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      return { kind: "answered", result: { action: "cancel" } };
    };
    const result = await connection.callTool(toolCall("form", {}, { timeoutMs: 2_000, ask }));
    expect(jsonOf(result)).toEqual({ action: "cancel" });
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
  it("is put to whoever made the call, one after the other, and its state goes back as it came", async () => {
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

describe("progress of a call", () => {
  it("gives it its time limit again", async () => {
    const connection = await connect(fixture("asks.mjs"));
    expect(jsonOf(await connection.callTool(toolCall("progress", {}, { timeoutMs: 1_500 })))).toBe("done");
  });

  it("does so up to a total", async () => {
    const connection = await connect(fixture("asks.mjs"));
    const call = connection.callTool(toolCall("silent_progress", {}, { timeoutMs: 600 }));
    expect(await upstreamErrorOf(call)).toMatchObject({
      code: "call_timeout",
      message:
        "server 'x' did not answer within 0.6 s of its last progress, or 6 s in all; it may still be at work",
    });
  });
});
