import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { parseDescription } from "../../../upstream/openapi/description.ts";
import { OpenApiConnection } from "../../../upstream/openapi/openapi-connection.ts";
import { type OperationFilter, readOperations } from "../../../upstream/openapi/operations.ts";

/** What an API was asked. */
export interface Asked {
  method: string;
  /** Path and query, as they were sent. */
  url: string;
  headers: IncomingMessage["headers"];
  body: Buffer;
}

export interface Answer {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

/** An API on this machine, which answers as it is told and remembers what it was asked. */
export async function serveApi(answer: (asked: Asked) => Answer = () => ({})) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body: Buffer.concat(chunks) };
    asked.push(one);
    const { status = 200, headers: own = { "content-type": "application/json" }, body = "{}" } = answer(one);
    response.writeHead(status, own).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked };
}

/** Opens an API by a description. Calls answer as the broker gets it. */
export function openDescribed(
  description: object | string,
  base: string,
  options: { filter?: OperationFilter; headers?: Record<string, string> } = {},
) {
  const text = typeof description === "string" ? description : JSON.stringify(description);
  const parsed = parseDescription(text, "of a test");
  const connection = new OpenApiConnection({
    ...{ description: parsed, ...readOperations(parsed, options.filter) },
    base: new URL(base),
    headers: options.headers ?? {},
    fetch,
    version: "0",
  });
  const signal = new AbortController().signal;
  const call = (tool: string, args: unknown = {}, timeoutMs = 60_000) =>
    connection.callTool({ tool, arguments: args, signal, timeoutMs });
  return { connection, call };
}

/** A description of one operation. */
export function described(path: string, method: string, operation: object, rest: object = {}): object {
  const paths = { [path]: { [method]: { operationId: "op", responses: {}, ...operation } } };
  return { openapi: "3.1.0", info: { title: "t", version: "1" }, paths, ...rest };
}
