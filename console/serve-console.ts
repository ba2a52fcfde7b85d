/** A console behind a Node.js HTTP server: on its own loopback port, or as a part of another server. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { clientAddressOf } from "../server/http/client-address.ts";
import type { Console } from "./console.ts";

const HOST = "127.0.0.1";
const MAX_HEADER_BYTES = 16 * 1024;
const HEADERS_MS = 10_000;
const REQUEST_MS = 60_000;
const MAX_CONNECTIONS = 256;

/** Passes the requests of a server to a console. */
export function answerBy(
  console: Pick<Console, "fetch">,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return getRequestListener(
    (request, { incoming }) =>
      console.fetch(request, { address: clientAddressOf(incoming as IncomingMessage) }),
    { overrideGlobalObjects: false },
  );
}

/** A bound port on loopback. It answers nothing before `serve`. */
export class LoopbackServer {
  /** Where browsers reach it. */
  readonly origin: string;
  readonly #servers: readonly Server[];
  #answer: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined;

  private constructor(servers: readonly Server[], origin: string) {
    this.#servers = servers;
    this.origin = origin;
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      // If another site points its name at this address (DNS rebinding), the request carries that name.
      if (request.headers.host !== new URL(this.origin).host || this.#answer === undefined) {
        response.writeHead(403, { "Content-Type": "text/plain" }).end(`The console is at ${this.origin}\n`);
        return;
      }
      const isRoot = request.url === "/" || request.url === "/console";
      if (isRoot) response.writeHead(303, { Location: "/console/" }).end();
      else void this.#answer(request, response);
    };
    for (const server of servers) server.on("request", answer);
  }

  /**
   * @param port 0 for any free port.
   * @param name the host name in the console's address. With `localhost`, which passkeys need, it also listens on `::1`, so that no
   * other process answers there under that name.
   * @throws Error if it cannot listen.
   */
  static async listen(port: number, name: typeof HOST | "localhost" = HOST): Promise<LoopbackServer> {
    const server = await listenAt(HOST, port);
    const { port: taken } = server.address() as AddressInfo;
    const servers = [server];
    if (name === "localhost") {
      try {
        servers.push(await listenAt("::1", taken));
      } catch (error) {
        // Without IPv6, no process listens there.
        if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") {
          server.close();
          throw error;
        }
      }
    }
    return new LoopbackServer(servers, `http://${name}:${taken}`);
  }

  serve(console: Pick<Console, "fetch">): void {
    this.#answer = answerBy(console);
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#servers.map(async (server) => {
        const closed = once(server, "close");
        server.close();
        server.closeAllConnections();
        await closed;
      }),
    );
  }
}

async function listenAt(host: string, port: number): Promise<Server> {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen({ host, port });
  await once(server, "listening");
  return server;
}
