import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { type Asked, answerTo } from "../../fixtures/servers/hostile-answers.ts";

/** An event; what stands in several lines needs several `data:`. */
export function event(data: string): string {
  return `${data
    .split("\n")
    .map((line) => `data: ${line}\r\n`)
    .join("")}\r\n`;
}

/** The hostile server over Streamable HTTP: answers as one body, or in a stream behind events that nobody can use. */
export function serveHostile(options: { stream: boolean }): RequestListener {
  return async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const answer = answerTo(await readJson(request));
    if (answer === undefined) return void response.writeHead(202).end();
    if (!options.stream) {
      return void response.writeHead(200, { "content-type": "application/json; charset=utf-8" }).end(answer);
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`: hello\n\nretry: 0\nid: 1\n${event('{"jsonrpc":"2.0","id":9e400}')}${event(answer)}`);
  };
}

/** The same over the older HTTP with SSE. */
export function serveHostileSse(): RequestListener {
  let stream: ServerResponse | undefined;
  return async (request, response) => {
    if (request.method === "GET") {
      stream = response.writeHead(200, { "content-type": "text/event-stream" });
      stream.write("event: endpoint\ndata: /messages\n\n");
      return;
    }
    const answer = answerTo(await readJson(request));
    response.writeHead(202).end();
    if (answer !== undefined) stream?.write(`${event('{"jsonrpc":"2.0","id":9e400}')}${event(answer)}`);
  };
}

export async function readJson(request: IncomingMessage): Promise<Asked> {
  return (await json(request)) as Asked;
}
