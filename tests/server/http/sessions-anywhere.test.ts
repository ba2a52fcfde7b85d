/** Sessions of MCP 2025-11-25 whose requests come to several processes. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ProgramRequest } from "../../../execution/run-request.ts";
import type { Authenticator, Caller } from "../../../identity/caller.ts";
import { KeyList } from "../../../secrets/sealing.ts";
import { sealedState } from "../../../server/http/sealed-state.ts";
import { MemoryFacts } from "../../archive/memory-facts.ts";
import { executed, executing, FakeCatalog, REQUEST, serviceOf } from "../mcp/served.ts";
import { ALL_SCOPES, answerOf, post, serveHttpHere } from "./served-http.ts";

/** Lets in whoever says a name as a token. */
const byName: Authenticator = {
  authenticate: async (authorization = ""): Promise<Caller> => {
    const principal = `https://login.example.com#${authorization.replace("Bearer ", "")}`;
    return { context: { principal, source: "serve" }, scopes: ALL_SCOPES };
  },
  resourceMetadata: {},
  requestedScopes: [],
};

const CAPABLE = { elicitation: {} };
const message = (method: string, params: object = {}, id: number | string = 1) => ({
  ...{ jsonrpc: "2.0", id, method, params },
});
const initialize = (capabilities: object, clientInfo: object = { name: "old", version: "3" }) =>
  message("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });

/** Asks a person whether a call is made, and comes to the answer. */
const asks = async (_: unknown, { approver, signal, context }: ProgramRequest) => {
  const { decision } = await approver.ask(REQUEST, signal);
  return executed({ data: { decision, session: context.session, client: context.client } });
};

/** A replica, and what a client does at it. */
async function replica(facts: MemoryFacts, { now = Date.now, key = 7, run = asks } = {}) {
  const keys = new KeyList([Buffer.alloc(32, key)]);
  const catalog = new FakeCatalog([]);
  const service = serviceOf(run, { facts, catalog });
  const { url } = await serveHttpHere(service, {
    authenticator: byName,
    // Keys may be read from elsewhere, and meanwhile other requests come.
    sessionSealer: sealedState(() => delay(20, keys), { now, maxAgeMs: () => 60_000, maxChars: 100_000 }),
  });
  const headersOf = (session: string | undefined, who: string) => ({
    ...{ Authorization: `Bearer ${who}`, "MCP-Protocol-Version": "2025-11-25" },
    ...(session === undefined ? {} : { "Mcp-Session-Id": session }),
  });
  return {
    ...{ catalog, service },
    send: (body: unknown, session?: string, who = "ada") => post(url, body, headersOf(session, who)),
    open: async (session: string, headers: Record<string, string> = {}) => {
      const ended = new AbortController();
      onTestFinished(() => ended.abort());
      const own = { ...headersOf(session, "ada"), Accept: "text/event-stream", ...headers };
      return fetch(url, { headers: own, signal: ended.signal });
    },
    remove: (session: string) => fetch(url, { method: "DELETE", headers: headersOf(session, "ada") }),
  };
}

type Replica = Awaited<ReturnType<typeof replica>>;

async function begin({ send }: Replica, capabilities: object = CAPABLE, clientInfo?: object) {
  const response = await send(initialize(capabilities, clientInfo));
  await response.text();
  return response.headers.get("mcp-session-id") ?? "";
}

/** The messages of a stream. */
function messagesOf(response: Response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return async (): Promise<{
    id: string;
    result: { content: unknown };
    method?: string;
    params?: object;
  }> => {
    for (;;) {
      const found = /data: (\{.*\})\n\n/.exec(text);
      if (found !== null) {
        text = text.slice(found.index + found[0].length);
        return JSON.parse(found[1] ?? "");
      }
      const { value, done } = (await reader?.read()) ?? { done: true };
      if (done) throw new Error(`the stream has ended: ${text}`);
      text += value;
    }
  };
}

const tools = message("tools/list");
const call = message("tools/call", executing("1"), 5);
const answering = (id: string, decision: string) => ({
  ...{ jsonrpc: "2.0", id, result: { action: "accept", content: { decision } } },
});

describe("a session of MCP 2025-11-25 that several processes answer", () => {
  it("is known to each, with what its client has said of itself, and is the same session", async () => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const session = await begin(one, {});
    expect((await other.send(tools, session)).status).toBe(200);
    const [first, second] = await Promise.all(
      [one, other].map(async ({ send }) => answerOf(await send(call, session))),
    );
    expect(first).toEqual(second);
    expect(JSON.stringify(first)).toContain('\\"client\\":{\\"name\\":\\"old\\",\\"version\\":\\"3\\"}');
  });

  it("reaches the model of its client from each, where its client offers that", async () => {
    const facts = new MemoryFacts();
    const run = async (_: unknown, { approver, signal }: ProgramRequest) => {
      const sampling = { messages: [], maxTokens: 1 };
      const asked = { runId: "run-1", server: "sage", tool: "mcp__sage__think", sampling };
      return executed({ data: await approver.sample?.(asked, signal) });
    };
    const [one, other] = await Promise.all([replica(facts, { run }), replica(facts, { run })]);
    const session = await begin(one, { sampling: {} });
    const next = messagesOf(await other.send(call, session));
    expect(await next()).toMatchObject({ method: "sampling/createMessage", params: { maxTokens: 1 } });
  });

  it("is nobody else's, and none that no process gave", async () => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const foreign = await replica(facts, { key: 8 });
    const session = await begin(one);
    expect((await other.send(tools, session, "bob")).status).toBe(404);
    expect((await one.send(tools, session, "bob")).status).toBe(404);
    expect((await foreign.send(tools, session)).status).toBe(404);
    const changed = `${session.slice(0, -1)}${session.endsWith("A") ? "B" : "A"}`;
    expect((await other.send(tools, changed)).status).toBe(404);
    expect((await other.send(tools, "made-up")).status).toBe(404);
    expect((await other.send(tools, session)).status).toBe(200);
  });

  it("ends by its time where it is not known", async () => {
    const facts = new MemoryFacts();
    const session = await begin(await replica(facts));
    const later = await replica(facts, { now: () => Date.now() + 61_000 });
    expect((await later.send(tools, session)).status).toBe(404);
  });

  it("is ended everywhere by whichever is asked to", async () => {
    const facts = new MemoryFacts();
    const [one, other, third] = await Promise.all([replica(facts), replica(facts), replica(facts)]);
    const session = await begin(one);
    expect((await other.remove(session)).status).toBe(200);
    for (const { send } of [one, other, third]) expect((await send(tools, session)).status).toBe(404);
    expect((await third.remove(session)).status).toBe(404);
  });

  it("has an id that headers hold, whatever its client says", async () => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const long = { extensions: { "x/y": { text: "x".repeat(50_000) } }, ...CAPABLE };
    const session = await begin(one, long, { name: "漢".repeat(9_000), version: "v".repeat(9_000) });
    expect(session).toMatch(/^[\x21-\x7e]{100,2000}$/);
    expect((await other.send(tools, session)).status).toBe(200);
  });

  it("is opened once for requests that come at the same time", async () => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const session = await begin(one);
    const opened = vi.spyOn(other.service, "connect");
    const all = await Promise.all(Array.from({ length: 8 }, () => other.send(tools, session)));
    expect(all.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(opened).toHaveBeenCalledTimes(1);
  });

  it.each([
    ["once", '"decision":"once"'],
    ["deny", '"decision":"denied"'],
  ])("takes an answer (%s) at another process than has asked", async (decision, outcome) => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const session = await begin(one);
    const next = messagesOf(await one.send(call, session));
    const question = await next();
    expect(question.method).toBe("elicitation/create");
    expect((await other.send(answering(question.id, decision), session)).status).toBe(202);
    expect(JSON.stringify(await next())).toContain(outcome);
  });

  it("gives an answer to the question that was asked, where two processes ask at once", async () => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const session = await begin(one);
    const [here, there] = await Promise.all(
      [one, other].map(async ({ send }) => messagesOf(await send(call, session))),
    );
    const [first, second] = [await here?.(), await there?.()];
    expect((await other.send(answering(first?.id ?? "", "deny"), session)).status).toBe(202);
    expect(JSON.stringify(await here?.())).toContain('"decision":"denied"');
    expect((await other.send(answering(second?.id ?? "", "once"), session)).status).toBe(202);
    expect(JSON.stringify(await there?.())).toContain('"decision":"once"');
  });

  it("gives no answer to what was asked in another session", async () => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const [session, another] = [await begin(one), await begin(one)];
    const next = messagesOf(await one.send(call, session));
    const { id } = await next();
    await other.send(answering(id, "once"), another);
    await other.send(answering(id, "deny"), session);
    expect(JSON.stringify(await next())).toContain('"decision":"denied"');
  });

  it.each([["at another process than runs it"], ["where it runs"]])("cancels a program %s", async (where) => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const session = await begin(one);
    const next = messagesOf(await one.send({ ...call, id: 8 }, session));
    const { id } = await next();
    const cancelling = (requestId: unknown) => ({
      ...{ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } },
    });
    const at = where.startsWith("at another") ? other : one;
    for (const wrong of [9, "8"]) expect((await at.send(cancelling(wrong), session)).status).toBe(202);
    expect((await at.send(cancelling(8), session)).status).toBe(202);
    // The question is withdrawn by the name that the client knows.
    expect(await next()).toMatchObject({ method: "notifications/cancelled", params: { requestId: id } });
    // Nothing is looked for any more.
    const before = facts.reads;
    await delay(1_200);
    expect(facts.reads).toBe(before);
  });

  it("costs a short request nothing but the look whether it has ended", async () => {
    const facts = new MemoryFacts();
    const one = await replica(facts);
    const session = await begin(one);
    const before = facts.reads;
    await (await one.send(tools, session)).text();
    await delay(1_200);
    expect(facts.reads - before).toBe(1);
  });

  it("says in the answer's place that it is too long", async () => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const session = await begin(one);
    const next = messagesOf(await one.send(call, session));
    const { id } = await next();
    expect((await other.send(answering(id, "x".repeat(2_000_000)), session)).status).toBe(202);
    expect(JSON.stringify(await next())).not.toContain('"decision":"once"');
  });

  it("has a stream of news wherever its client takes it up again", async () => {
    const facts = new MemoryFacts();
    const [one, other] = await Promise.all([replica(facts), replica(facts)]);
    const session = await begin(one);
    let status = 0;
    void other.open(session, { "Last-Event-ID": "_GET_stream.7" }).then((taken) => {
      status = taken.status;
    });
    // A stream reaches its client with its first event.
    await expect.poll(() => [other.catalog.change([]), status]).toContain(200);
    const lost = await other.open(session, { "Last-Event-ID": "0d9c1c1e-0000-4000-8000-000000000000.1" });
    expect(lost.status).toBe(400);
  });
});
