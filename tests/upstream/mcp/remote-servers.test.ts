import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { eventually } from "../../eventually.ts";
import { connect, toolCall, upstreamErrorOf } from "../upstream-fixtures.ts";
import {
  listen,
  type Seen,
  serveModern,
  serveSse,
  serveStateless,
  serveStreamable,
} from "./upstream-http-servers.ts";

let seen: Seen;

beforeEach(() => {
  seen = { headers: [], started: 0, aborted: 0 };
});

function remote(url: string, transport: "http" | "sse" = "http", headers: Record<string, string> = {}) {
  return { name: "x", transport, url, headers };
}

/** An origin where nothing listens. */
async function unusedOrigin(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe("a server on HTTP", () => {
  const LEGACY = "2025-11-25";
  const MODERN = "2026-07-28";
  const streamable = (json = false) => serveStreamable(seen, { json }).listener;
  const sse = (refusal?: number) => serveSse(seen, refusal).listener;
  type Served = [
    what: string,
    transport: "http" | "sse",
    path: string,
    version: string,
    () => RequestListener,
  ];
  const servers: Served[] = [
    ["Streamable HTTP that streams", "http", "/mcp", LEGACY, () => streamable()],
    ["Streamable HTTP that does not stream", "http", "/mcp", LEGACY, () => streamable(true)],
    ["Streamable HTTP without sessions", "http", "/mcp", LEGACY, () => serveStateless(seen)],
    ["Streamable HTTP of the later era", "http", "/mcp", MODERN, () => serveModern(seen)],
    ["SSE", "sse", "/sse", LEGACY, () => sse()],
    ["SSE, configured as http, that refuses POST", "http", "/sse", LEGACY, () => sse(405)],
    ["SSE, configured as http, that knows no POST", "http", "/sse", LEGACY, () => sse(404)],
    ["Streamable HTTP, configured as sse", "sse", "/mcp", LEGACY, () => streamable()],
    ["Streamable HTTP without sessions, as sse", "sse", "/mcp", LEGACY, () => serveStateless(seen)],
    ["Streamable HTTP of the later era, as sse", "sse", "/mcp", MODERN, () => serveModern(seen)],
  ];

  it.each(servers)("is spoken to over %s", async (_, transport, path, protocolVersion, build) => {
    const origin = await listen(build());
    const connection = await connect(remote(origin + path, transport), { connectTimeoutMs: 6_000 });
    expect((await connection.list()).protocolVersion).toBe(protocolVersion);
    const tools = (await connection.list()).tools as { name: string }[];
    expect(tools[0]).toMatchObject({ name: "echo" });
    const result = await connection.callTool(toolCall("echo", { text: "héllo" }));
    expect(result).toMatchObject({ content: [{ type: "text", text: "héllo" }] });
  });

  it.each([
    ["http", "/mcp", () => serveStreamable(seen).listener],
    ["sse", "/sse", () => serveSse(seen).listener],
  ] as const)("gets the configured headers with every request: %s", async (transport, path, build) => {
    const origin = await listen(build());
    const target = remote(origin + path, transport, { Authorization: "Bearer t0ken-value" });
    await (await connect(target)).list();
    expect(seen.headers.length).toBeGreaterThan(2);
    for (const headers of seen.headers) expect(headers.authorization).toBe("Bearer t0ken-value");
  });

  it("gets a user that stands in its URL as Basic authentication", async () => {
    const origin = await listen(serveStreamable(seen).listener);
    await connect(remote(`${origin.replace("//", "//us%40er:pa%20ss@")}/mcp`));
    expect(seen.headers[0]?.authorization).toBe(`Basic ${Buffer.from("us@er:pa ss").toString("base64")}`);
  });

  it.each<[user: string, configured: Record<string, string>, authorization: string | undefined]>([
    ["", {}, undefined],
    ["us%40er@", {}, `Basic ${btoa("us@er:")}`],
    [":pa%20ss@", {}, `Basic ${btoa(":pa ss")}`],
    ["100%@", {}, `Basic ${btoa("100%:")}`],
    ["user:password@", { Authorization: "Bearer t0ken-value" }, "Bearer t0ken-value"],
  ])(
    "gets as its authorization what its URL and its headers say: %j, %j",
    async (user, configured, authorization) => {
      const origin = await listen(serveStreamable(seen).listener);
      await connect(remote(`${origin.replace("//", `//${user}`)}/mcp`, "http", configured));
      expect(seen.headers.length).toBeGreaterThan(0);
      for (const headers of seen.headers) expect(headers.authorization).toBe(authorization);
    },
  );

  it("gets arguments repeated in the headers that a tool's definition asks for", async () => {
    const origin = await listen(serveModern(seen));
    const connection = await connect(remote(`${origin}/mcp`));
    const definition = (await connection.list()).tools[1];
    const result = await connection.callTool(toolCall("route", { region: "nord" }, { definition }));
    expect(result).toMatchObject({ content: [{ text: "nord" }] });
    expect(seen.headers.at(-1)?.["mcp-param-region"]).toBe("nord");
  });

  it.each([
    undefined,
    "text/plain",
    "text/plain; charset=utf-8",
    "application/octet-stream",
    "application/json; charset=utf-8",
  ])("is read when its JSON comes as %s", async (type) => {
    const origin = await listen(async (request, response) => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const { id, method } = (await json(request)) as { id?: number; method: string };
      if (id === undefined) return void response.writeHead(202).end();
      const capabilities = { tools: {} };
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: "2025-11-25",
          capabilities,
          serverInfo: { name: "s", version: "1" },
        },
        "tools/list": { tools: [{ name: "go", inputSchema: { type: "object" } }] },
      };
      const result = results[method];
      const error = { code: -32601, message: "no such method" };
      const answer = { jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) };
      response.writeHead(200, type === undefined ? {} : { "content-type": type }).end(JSON.stringify(answer));
    });
    const connection = await connect(remote(`${origin}/mcp`));
    expect((await connection.list()).tools).toHaveLength(1);
  });

  it("has its session ended on close", async () => {
    const { listener, sessions } = serveStreamable(seen);
    const connection = await connect(remote(`${await listen(listener)}/mcp`));
    expect(sessions.size).toBe(1);
    await connection.close();
    expect(sessions.size).toBe(0);
  });
});

describe("a call over HTTP", () => {
  it.each([
    ["http", "/mcp", () => serveStreamable(seen).listener],
    ["sse", "/sse", () => serveSse(seen).listener],
  ] as const)("is called off at its time limit: %s", async (transport, path, build) => {
    const connection = await connect(remote((await listen(build())) + path, transport));
    const call = connection.callTool(toolCall("wait", {}, { timeoutMs: 500 }));
    expect(await upstreamErrorOf(call)).toMatchObject({ code: "call_timeout" });
    await eventually(() => expect(seen.aborted).toBe(1));
  });

  it.each([
    ["a stream", "http", "/mcp", () => serveStreamable(seen).listener],
    ["one body", "http", "/mcp", () => serveStreamable(seen, { json: true }).listener],
  ] as const)("fails when the answer is too large, and only it: %s", async (_, transport, path, build) => {
    const target = remote((await listen(build())) + path, transport);
    const connection = await connect(target, { maxMessageBytes: 50_000 });
    const call = (bytes: number) => connection.callTool(toolCall("large", { bytes }));
    expect(await upstreamErrorOf(call(60_000))).toMatchObject({
      code: "protocol_error",
      message: "server 'x' answered with a message too large to read; ask it for less at a time",
    });
    expect(await call(1_000)).toMatchObject({ content: [{ text: "x".repeat(1_000) }] });
  });

  it("may be one of many on a stream that is long in all", async () => {
    const target = remote(`${await listen(serveSse(seen).listener)}/sse`, "sse");
    const connection = await connect(target, { maxMessageBytes: 50_000 });
    for (let i = 0; i < 10; i++) {
      const result = await connection.callTool(toolCall("large", { bytes: 10_000 }));
      expect(result).toMatchObject({ content: [{ text: "x".repeat(10_000) }] });
    }
  });

  it("fails when the response ends before the answer", async () => {
    const { listener } = serveStreamable(seen);
    const origin = await listen((request, response) => {
      if (request.headers["content-length"] !== undefined && seen.headers.length > 4) {
        response.writeHead(200, { "content-type": "text/event-stream" }).end();
      } else listener(request, response);
    });
    const connection = await connect(remote(`${origin}/mcp`));
    await connection.list();
    const message = "server 'x' ended its response before it had answered";
    const error = await upstreamErrorOf(connection.callTool(toolCall("echo", { text: "a" })));
    expect(error).toMatchObject({ code: "disconnected", message });
  });

  it("says of a session that the server has forgotten that it has ended", async () => {
    const { listener, forget } = serveStreamable(seen);
    const connection = await connect(remote(`${await listen(listener)}/mcp`));
    forget();
    const message = "server 'x' has ended the session";
    const error = await upstreamErrorOf(connection.callTool(toolCall("echo", { text: "a" })));
    expect(error).toMatchObject({ code: "session_ended", message, retryable: true });
  });

  it("fails when the older transport's stream breaks, and the connection with it", async () => {
    const { listener, drop } = serveSse(seen);
    const connection = await connect(remote(`${await listen(listener)}/sse`, "sse"));
    const lost = vi.fn();
    connection.onLost(lost);
    const call = upstreamErrorOf(connection.callTool(toolCall("wait")));
    await eventually(() => expect(seen.started).toBe(1));
    drop();
    expect(await call).toMatchObject({ code: "disconnected", message: "server 'x' closed the connection" });
    expect(lost).toHaveBeenCalledOnce();
  });
});

describe("a server on HTTP that cannot be used", () => {
  const answering =
    (status: number, body = "", type = "text/html"): RequestListener =>
    (_, response) =>
      void response.writeHead(status, { "content-type": type }).end(body);

  const PLACE = String.raw`at 127\.0\.0\.1:\d+, where an MCP endpoint should be; check its url`;
  const USUAL = ": many servers listen at /mcp$";
  const redirecting =
    (status: number, location: string | undefined): RequestListener =>
    (_, response) =>
      void response.writeHead(status, location === undefined ? {} : { location }).end();
  const leadsTo = (status: number, address: string) =>
    `^server 'x' answered HTTP ${status} at 127\\.0\\.0\\.1:\\d+, which leads to ${address}: if that is the server's MCP endpoint, write it as its url$`;
  const HANDSHAKE = "^server 'x' did not complete the MCP handshake";
  const unusable: [what: string, RequestListener, code: string, message: string][] = [
    [
      "wants other headers",
      answering(401),
      "handshake_failed",
      "^server 'x' refused the connection with HTTP 401; check its headers$",
    ],
    [
      "has no such page",
      answering(404),
      "handshake_failed",
      `^server 'x' answered HTTP 404 ${PLACE}${USUAL}`,
    ],
    [
      "takes no messages",
      answering(405),
      "handshake_failed",
      `^server 'x' answered HTTP 405 at \\S+, where it takes no messages; check its url${USUAL}`,
    ],
    [
      "answers in other forms",
      answering(406),
      "handshake_failed",
      `^server 'x' answered HTTP 406 at \\S+, where it answers in no form that MCP has; check its url${USUAL}`,
    ],
    [
      "takes no JSON",
      answering(415),
      "handshake_failed",
      `^server 'x' answered HTTP 415 at \\S+, where it takes no JSON; check its url${USUAL}`,
    ],
    [
      "has moved and does not say where",
      redirecting(301, undefined),
      "handshake_failed",
      "^server 'x' answered HTTP 301 at \\S+, which leads elsewhere, and names no address: ask who runs it for the address, and write that as its url$",
    ],
    [
      "has moved to what is no address",
      redirecting(302, "javascript:alert(1)"),
      "handshake_failed",
      "^server 'x' answered HTTP 302 at \\S+, which leads elsewhere, and names no address",
    ],
    ...([301, 302, 303, 307, 308].map((status) => [
      `has moved to https with HTTP ${status}`,
      redirecting(status, "https://mcp.invalid/p4th-secret?key=qu3ry-secret"),
      "handshake_failed",
      leadsTo(status, String.raw`https://mcp\.invalid/\.\.\.\?\.\.\.`),
    ]) as [string, RequestListener, string, string][]),
    [
      "has moved on its host",
      redirecting(301, "/v2/mcp"),
      "handshake_failed",
      leadsTo(301, String.raw`http://127\.0\.0\.1:\d+/v2/mcp`),
    ],
    [
      "leads to itself",
      redirecting(307, "/again"),
      "handshake_failed",
      leadsTo(307, String.raw`http://127\.0\.0\.1:\d+/again`),
    ],
    ["is broken", answering(500), "handshake_failed", `^server 'x' answered HTTP 500 ${PLACE}$`],
    [
      "is a web page",
      answering(200, "<html>"),
      "handshake_failed",
      `^server 'x' answered with a web page \\(text/html\\) at \\S+, and not with MCP; check its url${USUAL}`,
    ],
    [
      "is text",
      answering(200, "It works!", "text/plain"),
      "handshake_failed",
      `^server 'x' answered with text \\(text/plain\\) at \\S+, and not with MCP; check its url${USUAL}`,
    ],
    [
      "is text of no type",
      (_, response) => void response.writeHead(200).end("It works!"),
      "handshake_failed",
      `^server 'x' answered with something without a Content-Type at \\S+, and not with MCP; check its url${USUAL}`,
    ],
    [
      "answers with broken JSON",
      answering(200, "{", "application/json"),
      "handshake_failed",
      `${HANDSHAKE}: .*; is it an MCP server\\?$`,
    ],
    [
      "never answers",
      () => {},
      "connect_timeout",
      `${HANDSHAKE} within 0\\.6 s; is it an MCP server\\? connect_timeout_seconds`,
    ],
  ];

  it.each(unusable)("says in one line that it %s", async (_, listener, code, message) => {
    // Only a server that is waited for in vain may run out of time, also on a busy machine.
    const connectTimeoutMs = code === "connect_timeout" ? 600 : 60_000;
    const url = `${await listen(listener)}/p4th-secret?key=qu3ry-secret`;
    for (const transport of ["http", "sse"] as const) {
      const target = remote(url, transport, { "X-Key": "h3ader-secret" });
      const error = await upstreamErrorOf(connect(target, { connectTimeoutMs }));
      expect(error.message).not.toMatch(/secret/);
      if (transport === "sse") continue;
      expect(error.code).toBe(code);
      expect(error.message).toMatch(new RegExp(message));
    }
  });

  it.each([
    [406, "Accept", "remove `accept` from its headers"],
    [415, "Content-Type", "remove `content-type` from its headers"],
    [404, "Accept", "check its url"],
  ])("is told apart from headers that do not suit it: HTTP %i", async (status, name, advice) => {
    const origin = await listen(answering(status));
    const target = remote(`${origin}/mcp`, "http", { [name]: "text/csv" });
    const { message } = await upstreamErrorOf(connect(target));
    expect(message).toMatch(new RegExp(`^server 'x' answered HTTP ${status} .*; ${advice}$`));
  });

  it("is blamed for what it did over the configured transport when the other fails too", async () => {
    const origin = await listen((request, response) => {
      response.writeHead(request.method === "POST" ? 405 : 418).end();
    });
    const messageOf = async (transport: "http" | "sse") =>
      (await upstreamErrorOf(connect(remote(`${origin}/mcp`, transport)))).message;
    expect(await messageOf("http")).toContain("answered HTTP 405");
    expect(await messageOf("sse")).toContain("answered HTTP 418");
  });

  it.each(["http", "sse"] as const)("says in one line that it is not there: %s", async (transport) => {
    const origin = await unusedOrigin();
    const error = await upstreamErrorOf(connect(remote(`${origin}/mcp`, transport)));
    expect(error).toMatchObject({
      code: "start_failed",
      message: `server 'x' cannot be reached at ${new URL(origin).host}: ECONNREFUSED; check that it runs, and its url`,
    });
  });
});
