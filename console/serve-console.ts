/** A console behind HTTP of Node.js: on a port of its own on loopback, or as a part of another server. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { Console } from "./console.ts";

const HOST = "127.0.0.1";
const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
const MAX_CONNECTIONS = 256;

/** What answers requests of a server by a console. */
export function answerBy(
  console: Pick<Console, "fetch">,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return getRequestListener((request) => console.fetch(request), { overrideGlobalObjects: false });
}

/** A port of loopback that is taken, and nothing is answered there before `serve`. */
export class LoopbackServer {
  /** Where browsers reach it. */
  readonly origin: string;
  readonly #server: Server;
  #answer: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;

  private constructor(server: Server) {
    this.#server = server;
    this.origin = `http://${HOST}:${(server.address() as AddressInfo).port}`;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      // A page of another site that has a name lead here (DNS rebinding) says that name.
      if (request.headers.host !== new URL(this.origin).host || this.#answer === undefined) {
        response.writeHead(403, { "Content-Type": "text/plain" }).end(`The console is at ${this.origin}\n`);
        return;
      }
      const isRoot = request.url === "/" || request.url === "/console";
      if (isRoot) response.writeHead(303, { Location: "/console/" }).end();
      else void this.#answer(request, response);
    });
  }

  /** @param port 0 for one that is free. @throws Error where it cannot listen. */
  static async listen(port: number): Promise<LoopbackServer> {
    const server = createServer({
      ...{ maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS },
    });
    server.maxConnections = MAX_CONNECTIONS;
    server.listen({ host: HOST, port });
    await once(server, "listening");
    return new LoopbackServer(server);
  }

  serve(console: Pick<Console, "fetch">): void {
    this.#answer = answerBy(console);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}
