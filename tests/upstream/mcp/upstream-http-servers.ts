import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer as ModernServer } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import * as z from "zod";

/** What the servers below were sent, and what of it was called off. */
export interface Seen {
  headers: IncomingMessage["headers"][];
  started: number;
  aborted: number;
}

/** Serves on a free port of the loopback until the test is over, and returns the origin. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function buildServer(seen: Seen): McpServer {
  const server = new McpServer({ name: "http-v1", version: "1.0.0" });
  server.registerTool("echo", { inputSchema: { text: z.string() } }, (said) => ({
    content: [{ type: "text", text: said.text }],
  }));
  server.registerTool("large", { inputSchema: { bytes: z.number() } }, ({ bytes }) => ({
    content: [{ type: "text", text: "x".repeat(bytes) }],
  }));
  server.registerTool("wait", {}, async (extra) => {
    seen.started++;
    await new Promise((resolve) => extra.signal.addEventListener("abort", resolve));
    seen.aborted++;
    return { content: [] };
  });
  return server;
}

/** Streamable HTTP of 2025-11-25 with sessions. `forget` makes it answer as if it had been started anew. */
export function serveStreamable(seen: Seen, options: { json?: boolean } = {}) {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const listener: RequestListener = async (request, response) => {
    seen.headers.push(request.headers);
    const id = request.headers["mcp-session-id"];
    let transport = sessions.get(String(id));
    if (id !== undefined && transport === undefined) return void response.writeHead(404).end();
    if (transport === undefined) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: options.json ?? false,
        onsessioninitialized: (sessionId) => void sessions.set(sessionId, opened),
        onsessionclosed: (sessionId) => void sessions.delete(sessionId),
      });
      transport = opened;
      // The first generation's own types do not agree with themselves under exact optional properties.
      await buildServer(seen).connect(transport as Parameters<McpServer["connect"]>[0]);
    }
    await transport.handleRequest(request, response);
  };
  return { listener, sessions, forget: () => sessions.clear() };
}

/** Streamable HTTP without sessions, which opens a stream for every GET and never names an endpoint on it. */
export function serveStateless(seen: Seen): RequestListener {
  return async (request, response) => {
    const transport = new StreamableHTTPServerTransport({});
    await buildServer(seen).connect(transport as Parameters<McpServer["connect"]>[0]);
    await transport.handleRequest(request, response);
  };
}

/** The older HTTP with SSE (2024-11-05): GET /sse opens the stream, POST /messages takes messages, all else is refused. */
export function serveSse(seen: Seen, refusal = 405) {
  const sessions = new Map<string, { transport: SSEServerTransport; response: ServerResponse }>();
  const listener: RequestListener = async (request, response) => {
    seen.headers.push(request.headers);
    const url = new URL(request.url ?? "/", "http://localhost");
    if (request.method === "GET" && url.pathname === "/sse") {
      const transport = new SSEServerTransport("/messages", response);
      sessions.set(transport.sessionId, { transport, response });
      await buildServer(seen).connect(transport);
    } else if (request.method === "POST" && url.pathname === "/messages") {
      await sessions
        .get(url.searchParams.get("sessionId") ?? "")
        ?.transport.handlePostMessage(request, response);
    } else {
      response.writeHead(refusal).end();
    }
  };
  const drop = () => {
    for (const { response } of sessions.values()) response.destroy();
  };
  return { listener, drop };
}

/** The second generation's handler, which serves both eras. */
export function serveModern(seen: Seen): RequestListener {
  const { fetch } = createMcpHandler(() => {
    const server = new ModernServer({ name: "http-v2", version: "2.0.0" });
    server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
      content: [{ type: "text", text }],
    }));
    server.registerTool(
      "route",
      { inputSchema: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }) },
      ({ region }) => ({ content: [{ type: "text", text: region }] }),
    );
    return server;
  });
  return async (request, response) => {
    seen.headers.push(request.headers);
    const body = await text(request);
    const init = { method: request.method ?? "GET", headers: request.headers as Record<string, string> };
    const url = `http://${request.headers.host}${request.url}`;
    const answer = await fetch(new Request(url, body === "" ? init : { ...init, body }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  };
}
