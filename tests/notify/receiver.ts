import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

/** A server of this machine that keeps what is posted to it, until the test is over. It answers with these statuses, then with 200. */
export async function receive(...statuses: number[]): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    received.push({ headers: request.headers, body });
    const status = statuses.shift() ?? 200;
    response.writeHead(status, status === 302 ? { Location: "/elsewhere" } : {}).end("ok");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/T00/B00/secret-path`, received };
}
