import { describe, expect, it, vi } from "vitest";
import { MessageGate, pauseAfter } from "../../../upstream/mcp/message-gate.ts";
import { openSession } from "./scripted-session.ts";

const failureOf = (request: Promise<unknown>) =>
  request.then(
    () => undefined,
    (error: { failure?: unknown }) => error.failure,
  );

describe("a request of a session", () => {
  it("resolves with the result as it came, of which the MCP client sees nothing", async () => {
    const { session, seen, answer, idOf } = openSession();
    const call = session.request("tools/call", { name: "a" });
    answer({ id: idOf(0), result: { content: "odd", resultType: "task" } });
    expect(await call).toEqual({ content: "odd", resultType: "task" });
    expect(seen).toEqual([]);
    void session.send({ jsonrpc: "2.0", id: 0, method: "initialize" });
    answer({ id: 0, result: { a: 1 } });
    answer({ id: 0, result: { a: 2 } });
    expect(seen).toEqual([{ jsonrpc: "2.0", id: 0, result: { a: 1 } }]);
  });

  it("fails with the code, the message and the data of the server's error", async () => {
    const { session, answer, idOf } = openSession();
    const call = session.request("tools/call", {});
    answer({ id: idOf(0), error: { code: -32042, message: "go there", data: { a: 1 } } });
    await expect(call).rejects.toMatchObject({
      message: "go there",
      failure: { kind: "rejected", code: -32042, data: { a: 1 } },
    });
  });

  it("carries what the protocol version wants in every request, and its own beside that", async () => {
    const { session, sent } = openSession();
    void session.request("tools/list", undefined);
    session.requestMeta = { version: "2026-07-28", own: "overridden" };
    void session.request("tools/list", undefined);
    void session.request("tools/call", { name: "a", _meta: { own: "kept" } });
    expect(sent.map(({ message }) => message.params)).toEqual([
      undefined,
      { _meta: { version: "2026-07-28", own: "overridden" } },
      { name: "a", _meta: { version: "2026-07-28", own: "kept" } },
    ]);
  });

  it.each([
    ["its signal aborts", (controller: AbortController) => controller.abort("enough"), "enough"],
    ["its time is up", () => {}, "the request timed out"],
  ])("is cancelled at the server when %s", async (_, callOff, reason) => {
    const controller = new AbortController();
    const { session, sent, answer, idOf } = openSession({ hasPerRequestStream: true });
    const call = session.request("tools/call", {}, { signal: controller.signal, timeoutMs: 20 });
    callOff(controller);
    expect(await failureOf(call)).toEqual({ kind: "called_off" });
    const requestId = idOf(0);
    expect(sent.slice(1).map(({ message }) => message)).toEqual([
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } },
    ]);
    answer({ id: requestId, result: {} });
  });

  it("is cancelled by the end of its stream, in versions that say so, where it has one", async () => {
    const controller = new AbortController();
    const { session, sent } = openSession({ hasPerRequestStream: true });
    session.requestMeta = { version: "2026-07-28" };
    const call = session.request("tools/call", {}, { signal: controller.signal });
    controller.abort();
    expect(await failureOf(call)).toEqual({ kind: "called_off" });
    expect(sent.map(({ message }) => message.method)).toEqual(["tools/call"]);
    expect(sent[0]?.options?.requestSignal?.aborted).toBe(true);
  });

  it("is not sent when its signal has aborted, or the connection has ended, which fails those that wait", async () => {
    const { session, sent } = openSession();
    expect(await failureOf(session.request("a", {}, { signal: AbortSignal.abort() }))).toEqual({
      kind: "called_off",
    });
    const waiting = session.request("b", {});
    await session.close();
    expect(await failureOf(waiting)).toEqual({ kind: "closed" });
    expect(await failureOf(session.request("c", {}))).toEqual({ kind: "closed" });
    expect(sent.map(({ message }) => message.method)).toEqual(["b"]);
  });

  it("takes the number of a request as text, but no other text for that number", async () => {
    const { session, answer, idOf } = openSession();
    const call = session.request("tools/call", {});
    answer({ id: `${idOf(0)}.0`, result: { wrong: true } });
    answer({ id: `${idOf(0)}`, result: { right: true } });
    expect(await call).toEqual({ right: true });
  });

  it("of the MCP client is answered once, also where the answers are no JSON", async () => {
    const { session, seen, say } = openSession();
    void session.send({ jsonrpc: "2.0", id: 0, method: "initialize" });
    for (let times = 0; times < 2; times++) say('{"jsonrpc":"2.0","id":0,"result":');
    expect(seen).toEqual([
      { jsonrpc: "2.0", id: 0, error: { code: -32603, message: "the answer is no JSON" } },
    ]);
  });

  it("fails when its stream ends without an answer", async () => {
    const { session, sent } = openSession();
    const call = session.request("tools/call", {});
    sent[0]?.options?.onRequestStreamEnd?.();
    expect(await failureOf(call)).toEqual({ kind: "unusable", fault: { kind: "stream_ended" } });
  });
});

describe("a server that asks", () => {
  const ask = (id: number, method = "x") => ({ id, method, params: {} });

  it("gets answers to few requests at the same time, and none while it reads none", async () => {
    const stuck = openSession({ send: () => new Promise(() => {}) });
    let asked = 0;
    stuck.session.onRequest = () => {
      asked++;
      return Promise.resolve({ result: {} });
    };
    for (let id = 0; id < 17; id++) stuck.answer(ask(id));
    expect(asked).toBe(16);
    const sent: unknown[] = [];
    const deaf = openSession({
      send: (message) => {
        sent.push(message);
        return new Promise(() => {});
      },
    });
    for (let id = 0; id < 150; id++) deaf.answer(ask(id, "ping"));
    expect(sent).toHaveLength(100);
  });

  it("gets no answer in the version that has no requests of servers", () => {
    const { session, sent, answer } = openSession();
    session.setProtocolVersion("2026-07-28");
    answer(ask(1, "ping"));
    expect(sent).toEqual([]);
  });

  it("gets no answer to a request that it has cancelled, and a refusal of one with an id that is still open", async () => {
    const { session, sent, answer } = openSession();
    const finish: ((outcome: { result: { done: boolean } }) => void)[] = [];
    session.onRequest = () => new Promise((resolve) => finish.push(resolve));
    answer(ask(1));
    answer(ask(1));
    expect(sent.map(({ message }) => message)).toEqual([
      { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "ptc offers no such method" } },
    ]);
    answer(ask(2));
    answer({ method: "notifications/cancelled", params: { requestId: 1 } });
    for (const each of finish) each({ result: { done: true } });
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent.slice(1).map(({ message }) => message)).toEqual([
      { jsonrpc: "2.0", id: 2, result: { done: true } },
    ]);
  });
});

describe("what a server sends unasked", () => {
  const notice = (method: string, params?: object) => JSON.stringify({ jsonrpc: "2.0", method, params });
  const gate = () => {
    const told: unknown[] = [];
    const opened = new MessageGate();
    opened.listener = {
      onListChanged: (list) => told.push(list),
      onRequest: (id, method, params) => told.push([id, method, params()]),
      onRequestCancelled: (id) => told.push(["cancelled", id]),
      onProgress: (token, params) => told.push([token, params]),
      onElicitationComplete: (id) => told.push(["complete", id]),
    };
    return { gate: opened, told };
  };
  const filler = "x".repeat(16_384);

  it.each<[what: string, text: string, told: unknown[]]>([
    ["tools", notice("notifications/tools/list_changed"), ["tools"]],
    ["resources", notice("notifications/resources/list_changed"), ["resources"]],
    ["prompts", notice("notifications/prompts/list_changed"), ["prompts"]],
    ["progress", notice("notifications/progress", { progressToken: 1 }), [[1, { progressToken: 1 }]]],
    ["progress that is large", notice("notifications/progress", { progressToken: 1, filler }), []],
    ["an end", notice("notifications/elicitation/complete", { elicitationId: "e" }), [["complete", "e"]]],
    ["an end of nothing", notice("notifications/elicitation/complete", { elicitationId: 7 }), []],
    ["a cancellation", notice("notifications/cancelled", { requestId: 7 }), [["cancelled", 7]]],
    ["a log", notice("notifications/message", { requestId: 7 }), []],
    ["a request", '{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}', [[1, "a", [1]]]],
    ["one with two ids", '{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}', [[1, "a", undefined]]],
    ["one with an id that is none", '{"jsonrpc":"2.0","id":1.5,"method":"a"}', []],
    [
      "a batch",
      '[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":"2","method":"b"}]',
      [
        [1, "a", undefined],
        ["2", "b", undefined],
      ],
    ],
  ])("is told where it is %s, and is no message for the client", (_, text, expected) => {
    const { gate: opened, told } = gate();
    opened.expect(1, { method: "tools/call" });
    const { messages, unasked, isGarbage } = opened.admit(text);
    expect({ told, messages, isGarbage }).toEqual({ told: expected, messages: [], isGarbage: false });
    expect(unasked).toBe(text.startsWith("[") ? 2 : 1);
  });

  it.each(["{", "[]x", "1", '{"jsonrpc":"1.0","method":"a"}', '{"jsonrpc":"2.0","id":1}'])(
    "is garbage: %s",
    (text) => {
      const { gate: opened, told } = gate();
      expect(opened.admit(text)).toEqual({ messages: [], unasked: 1, isGarbage: true });
      expect(told).toEqual([]);
    },
  );

  it("is for the client where it is about a subscription of the client, and small", () => {
    const { gate: opened } = gate();
    const method = "notifications/subscriptions/acknowledged";
    expect(opened.admit(notice(method)).messages).toEqual([]);
    opened.expect(0, { method: "subscriptions/listen" });
    expect(opened.admit(notice(method)).messages).toEqual([{ jsonrpc: "2.0", method }]);
    for (const other of [notice(method, { filler }), notice("notifications/message")])
      expect(opened.admit(other).messages).toEqual([]);
  });

  it("has its connection rest for as long as a flood of it took, and for no other", () => {
    expect([pauseAfter(99, 7.2), pauseAfter(100, 7.2)]).toEqual([0, 8]);
  });

  it("is passed on once for several changes at the same time, by what has changed since", async () => {
    const { session, answer } = openSession();
    const changes: string[][] = [];
    session.onListsChanged = (lists) => changes.push([...lists]);
    const change = (...lists: string[]) => {
      for (const list of lists) answer({ method: `notifications/${list}/list_changed` });
      return new Promise((resolve) => setImmediate(resolve));
    };
    await change("tools", "tools", "prompts");
    await change("resources");
    expect(changes).toEqual([["tools", "prompts"], ["resources"]]);
  });

  it("is answered with an error where ptc fails to answer", async () => {
    const { session, sent, answer } = openSession();
    session.onRequest = () => Promise.reject(new Error("planted"));
    answer({ id: 1, method: "x" });
    const error = { code: -32603, message: "ptc could not answer" };
    await vi.waitFor(() =>
      expect(sent.map(({ message }) => message)).toEqual([{ jsonrpc: "2.0", id: 1, error }]),
    );
  });
});
