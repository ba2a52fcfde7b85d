import { json } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { RunApprovals } from "../../../broker/approvals/approvals.ts";
import { Dispatcher } from "../../../broker/dispatcher.ts";
import { PolicyAuthorizer } from "../../../broker/policy/authorizer.ts";
import { IsolatingValidator } from "../../../broker/schemas/schema-validator.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import { LOCAL_PRINCIPAL } from "../../../protocol/run-context.ts";
import { LiveToolServers } from "../../../upstream/live-tool-servers.ts";
import { connectMcpServer } from "../../../upstream/mcp/connect-mcp-server.ts";
import type { Upstream } from "../../../upstream/upstream.ts";
import { toolOf } from "../../catalog/tool-of.ts";
import { eventually } from "../../eventually.ts";
import { poolOf } from "../fake-connection.ts";
import { connect, toolCall, upstreamErrorOf } from "../upstream-fixtures.ts";
import { listen } from "./upstream-http-servers.ts";

interface Message {
  id?: number;
  method: string;
  params?: { name?: string; protocolVersion?: string; arguments?: { n?: number } };
}

/** What a server answers about a session that it does not know. */
interface Refusal {
  status: number;
  body: string | ((id: unknown) => string);
}

const NOT_FOUND: Refusal = { status: 404, body: "" };

/** A server on Streamable HTTP (2025-11-25) that can forget its sessions. */
async function serveSessions(refusal: Refusal = NOT_FOUND) {
  const seen = {
    refusal,
    /** Whether every session is forgotten when a tool is called in it. */
    forgetsAtCalls: false,
    /** The session id of each request for a new session. */
    initialized: [] as (string | undefined)[],
    /** The arguments of the calls that were made, with their session. */
    made: [] as { n: number | undefined; session: string }[],
    requests: [] as string[],
    description: "counts",
    streams: [] as string[],
    sessions: new Set<string>(),
    announce: () => {},
    hold: undefined as Promise<void> | undefined,
  };
  const origin = await listen(async (request, response) => {
    const session = request.headers["mcp-session-id"] as string | undefined;
    seen.requests.push(`${request.method} ${session}`);
    const isKnown = session !== undefined && seen.sessions.has(session);
    if (request.method === "GET") {
      if (!isKnown) return void response.writeHead(404).end();
      seen.streams.push(session);
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      seen.announce = () =>
        void response.write(`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`);
      return;
    }
    if (request.method === "DELETE") return void response.writeHead(isKnown ? 200 : 404).end();
    const { id, method, params } = (await json(request)) as Message;
    const answer = (result: object, headers = {}) =>
      void response
        .writeHead(200, { "content-type": "application/json", ...headers })
        .end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    if (method === "server/discover") return void response.writeHead(400).end("unknown method");
    if (method === "initialize") {
      seen.initialized.push(session);
      const made = `s${seen.initialized.length}`;
      seen.sessions.add(made);
      const capabilities = { tools: { listChanged: true } };
      const serverInfo = { name: "s", version: "1" };
      return answer({ protocolVersion: "2025-11-25", capabilities, serverInfo }, { "mcp-session-id": made });
    }
    const isForgotten = seen.forgetsAtCalls && method === "tools/call";
    if (isForgotten || (!isKnown && method !== "notifications/initialized")) {
      const { status, body } = seen.refusal;
      return void response.writeHead(status).end(typeof body === "string" ? body : body(id));
    }
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/list") {
      const inputSchema = { type: "object" };
      return answer({ tools: [{ name: "count", description: seen.description, inputSchema }] });
    }
    seen.made.push({ n: params?.arguments?.n, session: session ?? "" });
    if (params?.arguments?.n === 0) await seen.hold;
    answer({ content: [], structuredContent: { n: params?.arguments?.n, session } });
  });
  return { seen, url: `${origin}/mcp` };
}

/** What calls the tool of such a server as a program does: through the dispatcher, with everything between it and the server. */
async function setUp(refusal?: Refusal) {
  const { seen, url } = await serveSessions(refusal);
  const target = { name: "x", transport: "http", url, headers: {} } as const;
  const { pool, upstream } = poolOf({
    connect: (signal) => connectMcpServer(target, { clientVersion: "0.0.0", signal }),
  });
  onTestFinished(() => pool.close());
  const servers = new LiveToolServers(
    new Map([["x", { upstreamFor: () => upstream, callTimeoutMs: 20_000 }]]),
    digestOf,
  );
  const definition = { name: "count", description: "counts", inputSchema: { type: "object" } };
  const tool = toolOf("x", "count", {
    definitionDigest: digestOf(definition),
    inputSchema: definition.inputSchema,
    annotations: { readOnlyHint: false },
  });
  const dispatcher = new Dispatcher({
    context: { principal: LOCAL_PRINCIPAL, source: "run" },
    tools: new Map([[tool.namespacedName, tool]]),
    authorizer: new PolicyAuthorizer({
      allow: undefined,
      block: [],
      ask: [],
      neverAsk: [],
      byDefault: "annotated",
    }),
    servers,
    validator: new IsolatingValidator(),
  });
  const approvals = new RunApprovals("run-1", {
    ask: async () => ({ decision: "denied" as const, by: "nobody" }),
  });
  const call = (n: number) =>
    dispatcher.dispatch(
      { tool: tool.namespacedName, arguments: { n } },
      { approvals, signal: new AbortController().signal },
    );
  return { seen, call, upstream: upstream as Upstream };
}

const rpcError = (id: unknown, code: number, message: string) =>
  JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });

/** What servers answer about sessions that they do not know, by what they are made with. */
const REFUSALS: [what: string, Refusal][] = [
  ["as specified", NOT_FOUND],
  ["the TypeScript SDK", { status: 404, body: rpcError(null, -32001, "Session not found") }],
  [
    "the examples of the TypeScript SDK",
    { status: 400, body: rpcError(null, -32000, "Bad Request: No valid session ID provided") },
  ],
  [
    "a restarted server of the TypeScript SDK",
    { status: 400, body: rpcError(null, -32000, "Bad Request: Server not initialized") },
  ],
  ["older examples of the TypeScript SDK", { status: 400, body: "Invalid or missing session ID" }],
  [
    "FastMCP for Python",
    { status: 400, body: rpcError("server-error", -32600, "Bad Request: No valid session ID provided") },
  ],
  [
    "the Python SDK",
    { status: 404, body: rpcError("server-error", -32600, "Not Found: Session has been terminated") },
  ],
  ["mcp-go", { status: 400, body: "Invalid session ID" }],
  ["a gateway", { status: 400, body: (id) => rpcError(id, -32600, "Invalid Request: Session not found") }],
  [
    "another gateway",
    { status: 400, body: rpcError(null, -32000, "Bad Request: Unknown Mcp-Session-Id header") },
  ],
  ["the Rust SDK", { status: 401, body: "Unauthorized: Session not found" }],
];

describe("a session that a server on HTTP has ended", () => {
  it.each(REFUSALS)("is replaced by a new one, in which the call is made once: %s", async (_, refusal) => {
    const { seen, call } = await setUp(refusal);
    expect(await call(1)).toMatchObject({ ok: true, data: { n: 1, session: "s1" } });
    seen.sessions.clear();
    expect(await call(2)).toMatchObject({ ok: true, data: { n: 2, session: "s2" } });
    expect(seen.initialized).toEqual([undefined, undefined]);
    expect(seen.made).toEqual([
      { n: 1, session: "s1" },
      { n: 2, session: "s2" },
    ]);
    expect(seen.requests).not.toContain("DELETE s1");
  });

  it("is replaced by one new session for all calls that find it ended", async () => {
    const { seen, call } = await setUp();
    await call(1);
    seen.sessions.clear();
    const outcomes = await Promise.all([2, 3, 4, 5, 6].map(call));
    for (const [index, outcome] of outcomes.entries())
      expect(outcome).toMatchObject({ ok: true, data: { n: index + 2, session: "s2" } });
    expect(seen.initialized).toHaveLength(2);
    expect(seen.made.map(({ n }) => n).sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("is replaced for each later loss as well, without a pause", async () => {
    const { seen, call } = await setUp();
    for (let n = 1; n <= 4; n++) {
      expect(await call(n)).toMatchObject({ ok: true, data: { session: `s${n}` } });
      seen.sessions.clear();
    }
  });

  it("is replaced for a listing as well", async () => {
    const { seen, upstream } = await setUp();
    await upstream.list();
    seen.sessions.clear();
    expect((await upstream.list()).tools).toHaveLength(1);
    expect(seen.initialized).toEqual([undefined, undefined]);
  });

  it("leaves calls that are being answered in it alone", async () => {
    const { seen, call } = await setUp();
    let release = () => {};
    seen.hold = new Promise((resolve) => {
      release = resolve;
    });
    await call(1);
    const slow = call(0);
    await eventually(() => expect(seen.made).toHaveLength(2));
    seen.sessions.clear();
    expect(await call(2)).toMatchObject({ ok: true, data: { session: "s2" } });
    release();
    expect(await slow).toMatchObject({ ok: true, data: { n: 0, session: "s1" } });
  });

  it("has the changes of tools announced in the new one", async () => {
    const { seen, call, upstream } = await setUp();
    const changes: string[] = [];
    upstream.onToolsChanged((change) => void changes.push(change));
    await call(1);
    seen.sessions.clear();
    await call(2);
    expect(changes).toEqual(["disconnected"]);
    await eventually(() => expect(seen.streams).toEqual(["s1", "s2"]));
    seen.announce();
    await eventually(() => expect(changes).toEqual(["disconnected", "announced"]));
  });

  it("fails the call clearly when the new one is ended as well", async () => {
    const { seen, call } = await setUp();
    await call(1);
    seen.forgetsAtCalls = true;
    const message = "'mcp__x__count' was not called: server 'x' has ended the session, and a new one as well";
    expect(await call(2)).toMatchObject({ ok: false, error: { message, retryable: true } });
    expect(seen.made).toEqual([{ n: 1, session: "s1" }]);
    expect(seen.initialized).toHaveLength(2);
  });

  it("refuses a call whose tool is another in the new one", async () => {
    const { seen, call } = await setUp();
    await call(1);
    seen.sessions.clear();
    seen.description = "deletes";
    const message = expect.stringContaining("was changed by its server since its types were generated");
    expect(await call(2)).toMatchObject({ ok: false, decision: "drifted", error: { message } });
    expect(seen.made).toHaveLength(1);
  });

  it.each<[what: string, Refusal]>([
    ["a fault of the server", { status: 500, body: "Session not found" }],
    ["a gateway without its server", { status: 502, body: "" }],
    ["another mistake in the request", { status: 400, body: "no such argument" }],
    [
      "a tool that has a session of its own",
      { status: 400, body: (id) => rpcError(id, -32000, "Browser session not found") },
    ],
  ])("is not what a server means by %s, so nothing is sent again", async (_, refusal) => {
    const { seen, call } = await setUp(refusal);
    await call(1);
    seen.sessions.clear();
    const before = seen.requests.length;
    expect(await call(2)).toMatchObject({ ok: false });
    expect(seen.requests.slice(before)).toEqual(["POST s1"]);
    expect(seen.initialized).toHaveLength(1);
  });
});

/** A server that answers calls with HTTP 404, once it is connected. */
async function servePage(protocolVersion: string, session: string | undefined, first: object) {
  let calls = 0;
  const origin = await listen(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method } = (await json(request)) as Message;
    const headers = { "content-type": "application/json", ...(session && { "mcp-session-id": session }) };
    const answer = (result: object) =>
      void response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    const about = { capabilities: { tools: {}, tasks: { requests: { tools: { call: {} } } } } };
    const serverInfo = { name: "s", version: "1" };
    if (method === "server/discover" && protocolVersion === "2026-07-28")
      return answer({
        ...about,
        resultType: "complete",
        supportedVersions: [protocolVersion],
        _meta: { "io.modelcontextprotocol/serverInfo": serverInfo },
      });
    if (method === "initialize") return answer({ ...about, protocolVersion, serverInfo });
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "tools/call" && Object.keys(first).length > 0) return answer(first);
    if (method === "tools/call") calls++;
    response.writeHead(404).end();
  });
  const connection = await connect({ name: "x", transport: "http", url: `${origin}/mcp`, headers: {} });
  return { connection, calls: () => calls };
}

describe("HTTP 404 to a call", () => {
  it.each([
    ["2025-11-25", undefined],
    ["2026-07-28", undefined],
    ["2026-07-28", "ignored"],
  ])("of MCP %s without a session (%s) is a failure like others", async (version, session) => {
    const { connection, calls } = await servePage(version, session, {});
    const error = await upstreamErrorOf(connection.callTool(toolCall("count")));
    expect(error).toMatchObject({ code: "remote_error", message: "server 'x' answered HTTP 404" });
    expect(calls()).toBe(1);
  });

  it("that has become a task leaves open whether it was made", async () => {
    const task = {
      taskId: "t",
      status: "working",
      ttl: 1_000,
      pollInterval: 1,
      createdAt: "",
      lastUpdatedAt: "",
    };
    const { connection } = await servePage("2025-11-25", "s1", { task });
    const definition = { name: "count", execution: { taskSupport: "required" } };
    const error = await upstreamErrorOf(connection.callTool(toolCall("count", {}, { definition })));
    expect(error).toMatchObject({
      code: "disconnected",
      message: "server 'x' has ended the session in the middle of the call",
    });
  });
});
