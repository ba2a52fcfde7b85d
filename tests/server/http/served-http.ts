import { onTestFinished } from "vitest";
import { KeyList } from "../../../secrets/sealing.ts";
import { HttpServer, type HttpServerOptions } from "../../../server/http/http-server.ts";
import { sealedState } from "../../../server/http/sealed-state.ts";
import type { McpService } from "../../../server/mcp/service.ts";
import { CONTEXT } from "../mcp/served.ts";

export const ALL_SCOPES = new Set(["ptc:run", "ptc:approve", "ptc:admin"] as const);
const KEY = Buffer.alloc(32, 7);

/** A service of the tests over HTTP on a free port, until the test is over. */
export async function serveHttpHere(
  service: McpService,
  options: Partial<HttpServerOptions> = {},
): Promise<{ server: HttpServer; url: URL; warnings: string[] }> {
  const warnings: string[] = [];
  const server = await HttpServer.listen(service, {
    listen: { host: "127.0.0.1", port: 0, isLoopback: true },
    publicUrl: undefined,
    tls: undefined,
    trustedProxies: [],
    authenticator: undefined,
    anybody: { context: CONTEXT, scopes: ALL_SCOPES },
    sealer: sealedState(async () => new KeyList([KEY]), { now: Date.now, maxAgeMs: () => 60_000 }),
    onWarning: (message) => void warnings.push(message),
    ...options,
  });
  onTestFinished(() => server.close());
  return { server, url: server.url, warnings };
}

/** A message of 2026-07-28 as the body of a request, with what every request of a client says. */
export function modern(method: string, params: Record<string, unknown> = {}, id: number | string = 1) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "by-hand", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
  };
  return { jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } };
}

/** Posts a message as a client does, and returns the response. */
export function post(
  url: URL,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { method, params } = body as { method?: string; params?: { name?: string } };
  return fetch(url, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      ...(method === undefined ? {} : { "Mcp-Method": method }),
      ...(params?.name === undefined ? {} : { "Mcp-Name": params.name }),
      ...headers,
    },
    body: JSON.stringify(body),
  });
}

/** The message that answers a request, whichever form the answer has. */
export async function answerOf(
  response: Response,
): Promise<{ result?: never; error?: never; [key: string]: unknown }> {
  const text = await response.text();
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return JSON.parse(text);
  const data = text.split("\n").filter((line) => line.startsWith("data: ") && line.length > 6);
  return JSON.parse((data.at(-1) ?? "data: null").slice(6));
}
