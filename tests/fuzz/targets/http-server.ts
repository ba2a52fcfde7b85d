import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { normalizeResult } from "../../../broker/normalize-result.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { connectMcpServer } from "../../../upstream/mcp/connect-mcp-server.ts";
import type { UpstreamConnection } from "../../../upstream/upstream.ts";
import { UpstreamError } from "../../../upstream/upstream-error.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileJson, hostileObject } from "../hostile/hostile-json.ts";
import { serverMessage, toolResult } from "../hostile/hostile-server-lines.ts";
import type { Random } from "../random.ts";

const MAX_BYTES = 64 * 1024;
/** An answer to something else is waited past: what is seen here is what comes of those that come. */
const TIMEOUT_MS = 200;
const INITIALIZED = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "s", version: "1" },
};

/** What the next requests for tools and calls of them are answered. */
let said: { body: Buffer; random?: Random } = { body: Buffer.alloc(0) };
let server: Server;
let connection: UpstreamConnection;

/** A server on HTTP that speaks properly until it is asked for its tools or called. */
export const target = fuzzTarget({
  name: "http-server",
  iterations: 30,
  generate(random) {
    const list = hostileObject(random, [
      ["tools", `[${random.list(random.size(5), () => hostileJson(random)).join(",")}]`],
    ]);
    const message = serverMessage(random, random.chance(0.5) ? list : toolResult(random)).replace(
      /"id":\d+/,
      '"id":ID',
    );
    switch (random.below(6)) {
      case 0:
        return `event: message\ndata: ${message.replaceAll("\n", "\ndata: ")}\n\n`;
      case 1:
        return `${": ping\n\n".repeat(random.size(50))}data: ${message}\r\n\r\ndata: ${message}\n\n`;
      case 2:
        return "x".repeat(random.pick([MAX_BYTES - 1, MAX_BYTES + 1, MAX_BYTES * 2]));
      default:
        return message;
    }
  },
  async open() {
    server = createServer((request, response) => void answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    connection = await connect();
    return async () => {
      await connection.close();
      server.closeAllConnections();
      server.close();
    };
  },
  async check(input, random) {
    said = { body: input, random };
    let lost = false;
    connection.onLost(() => {
      lost = true;
    });
    try {
      if (random.chance(0.5)) {
        for (const tool of (await connection.list(AbortSignal.timeout(TIMEOUT_MS))).tools)
          canonicalJson(tool);
      } else {
        const call = { timeoutMs: TIMEOUT_MS, signal: new AbortController().signal };
        const result = await connection.callTool({ ...call, tool: "echo", arguments: { a: 1 } });
        canonicalJson(result);
        normalizeResult(result);
      }
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      assert.match(error.message, /^.{1,2000}$/u, "a message is one short line");
    }
    if (!lost) return;
    await connection.close();
    connection = await connect();
  },
});

function connect(): Promise<UpstreamConnection> {
  const { port } = server.address() as AddressInfo;
  return connectMcpServer(
    { name: "s", transport: "http", url: `http://127.0.0.1:${port}/mcp`, headers: {} },
    { clientVersion: "0", maxMessageBytes: MAX_BYTES },
  );
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on("error", () => {});
  if (request.method !== "POST") return void response.writeHead(405).end();
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const message = JSON.parse(Buffer.concat(chunks).toString()) as { id?: number; method: string };
  if (message.id === undefined) return void response.writeHead(202).end();
  const reply = (result: unknown) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }));
  };
  if (message.method === "initialize") return reply(INITIALIZED);
  const { body, random } = said;
  if (random === undefined || !/^tools\/(?:list|call)$/.test(message.method)) {
    response.setHeader("content-type", "application/json");
    const error = { code: -32601, message: "Method not found" };
    return void response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, error }));
  }
  const isStream = /^(?:event|data|:)/.test(body.toString("latin1", 0, 20));
  response.statusCode = random.chance(0.9) ? 200 : random.pick([202, 204, 400, 401, 404, 405, 500, 503]);
  response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
  const text = Buffer.from(body.toString("latin1").replaceAll('"id":ID', `"id":${message.id}`), "latin1");
  for (const chunk of random.chunks(text).slice(0, 20)) response.write(chunk);
  if (random.chance(0.05)) response.destroy();
  else response.end();
}
