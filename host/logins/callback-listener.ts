import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AuthorizationError } from "../../upstream/authorization/authorization.ts";

/** Only this machine can reach it (RFC 8252, section 7.3). */
const HOST = "127.0.0.1";
const PATH = "/callback";
const MAX_HEADER_BYTES = 32 * 1024;

/** What became of a redirect: whether it belongs to the login that is waited for, and if so, whether that is good. */
export type Answered = "foreign" | "good" | "bad";

export interface CallbackListener {
  /** Where the browser is sent back to. */
  readonly redirectUri: string;
  close(): void;
}

/**
 * Waits on this machine for the browser to come back from a login.
 *
 * @param port the one with which the client is registered; a free one without it.
 * @param name how the redirect names this machine. It is listened on as 127.0.0.1, which browsers try for either.
 * @param answer is given the query of each redirect.
 * @throws AuthorizationError when the port is taken.
 */
export async function listenForCallback(
  port: number | undefined,
  name: "127.0.0.1" | "localhost",
  answer: (query: URLSearchParams) => Promise<Answered>,
): Promise<CallbackListener> {
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
    request.resume();
    // Anything on this machine can send a request here. Its target is split by hand, because a URL parser throws for some.
    const [path, ...query] = (request.url ?? "").split("?");
    if (request.method !== "GET" || path !== PATH) return reply(response, 404, "There is nothing here.");
    answer(new URLSearchParams(query.join("?"))).then(
      (answered) => reply(response, ...PAGES[answered]),
      () => reply(response, ...PAGES.bad),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const advice = port === undefined ? "" : "; end what uses it, or change callback_port in ptc.yaml";
      reject(
        new AuthorizationError(
          `cannot be logged in to: port ${port ?? "(any)"} cannot be listened on (${error.code})${advice}`,
        ),
      );
    });
    server.listen({ host: HOST, port: port ?? 0, exclusive: true }, resolve);
  });
  server.on("error", () => {});
  const { port: own } = server.address() as AddressInfo;
  return { redirectUri: `http://${name}:${own}${PATH}`, close: () => end(server) };
}

const PAGES: Readonly<Record<Answered, [status: number, text: string]>> = {
  good: [200, "ptc is logged in. You can close this page."],
  bad: [400, "ptc could not log in. It says why where it was started. You can close this page."],
  foreign: [400, "This does not belong to the login that ptc waits for."],
};

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(`<!doctype html><meta charset="utf-8"><title>ptc</title><p>${text}</p>\n`);
}

/** Lets answers under way go out. */
function end(server: Server): void {
  server.close();
  server.closeIdleConnections();
}
