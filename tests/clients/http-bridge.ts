import { randomUUID } from "node:crypto";
import type { RequestListener } from "node:http";
import { StdioClientTransport, type StdioServerParameters } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";

/**
 * Makes a server on stdio reachable over Streamable HTTP (2025-11-25): each session starts one, and messages pass
 * unread, but for what `rewrite` makes of those to the server. For clients that speak HTTP only.
 */
export function bridgeToStdio(
  server: StdioServerParameters,
  rewrite: (message: JSONRPCMessage) => JSONRPCMessage,
): RequestListener {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const children: StdioClientTransport[] = [];
  onTestFinished(async () => {
    await Promise.all(children.map((child) => child.close()));
  });
  const open = async () => {
    const child = new StdioClientTransport({ ...server, stderr: "ignore" });
    const http = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, http),
    });
    connect(http, child, rewrite);
    children.push(child);
    await child.start();
    return http;
  };
  return async (request, response) => {
    const id = request.headers["mcp-session-id"];
    const session = id === undefined ? await open() : sessions.get(String(id));
    if (session === undefined) response.writeHead(404).end();
    else await session.handleRequest(request, response);
  };
}

/** What the server says while a call is under way goes on the stream of that call, as over HTTP it should. */
function connect(
  http: StreamableHTTPServerTransport,
  child: StdioClientTransport,
  rewrite: (message: JSONRPCMessage) => JSONRPCMessage,
): void {
  let call: RequestId | undefined;
  http.onmessage = (message) => {
    if ("method" in message && message.method === "tools/call" && "id" in message) call = message.id;
    void child.send(rewrite(message));
  };
  child.onmessage = (message) => {
    const isAnswer = !("method" in message);
    void http.send(message, isAnswer || call === undefined ? {} : { relatedRequestId: call });
  };
}
