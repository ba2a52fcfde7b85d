/**
 * `ptc serve --http`: one address for many people. A request passes the gates of `#answer` in their order: what anybody may ask, where
 * it is sent to and from where (`Host`, `Origin`), whether ptc is about to end, and who sends it. Only then is its body read. What it
 * asks for is `mcp-over-http.ts`, and who somebody is comes from an `Authenticator`.
 */

import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, BlockList, isIP, isIPv6 } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  localhostAllowedHostnames,
  validateHostHeader,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import { messageOf } from "../../base/faults.ts";
import { writeJson } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import { type Authenticator, type Caller, isRefusal, type Refusal } from "../../identity/caller.ts";
import { narrowed } from "../../protocol/run-context.ts";
import type { StateSealer } from "../mcp/mcp-server.ts";
import type { McpService } from "../mcp/service.ts";
import { clientAddressOf, noteClientAddress } from "./client-address.ts";
import { MAX_BODY_BYTES, McpOverHttp } from "./mcp-over-http.ts";
import type { Records } from "./records.ts";

const MAX_HEADER_BYTES = 16 * 1024;
const MAX_CONNECTIONS = 4_096;
/** How long a client may take to send the headers of a request and the whole request, and how long it may read nothing of an answer. */
const TIMES = { headersMs: 10_000, requestMs: 60_000, stuckMs: 60_000, lookMs: 10_000 };
/** How long a connection without a request is kept. Longer than load balancers keep theirs, which is a minute by default. */
const KEEP_ALIVE_MS = 75_000;
/** How long the last answers may take to their clients. */
const LAST_ANSWERS_MS = 1_000;
/** After how many seconds a client that comes while ptc shuts down should try again. */
const RETRY_SECONDS = 2;

const SLACK_PATH = "/notify/slack";
/** More than Slack sends of a button. */
const MAX_SLACK_BYTES = 256 * 1024;

const METADATA_PATH = "/.well-known/oauth-protected-resource";

export interface HttpServerOptions {
  listen: { host: string; port: number; isLoopback: boolean };
  /** The URL that clients are given; by default where it listens. */
  publicUrl: string | undefined;
  /** Files in PEM, which are read again when they change. */
  tls: { cert: string; key: string } | undefined;
  /** Proxies in front of it, as addresses and networks. */
  trustedProxies: readonly string[];
  /** Finds out who sends a request. Without one, everybody who reaches it is `anybody`. */
  authenticator: Authenticator | undefined;
  anybody: Caller;
  sealer: StateSealer;
  /** Seals sessions of MCP 2025-11-25, where several processes answer the requests of each. */
  sessionSealer?: StateSealer | undefined;
  /** What is read and answered besides MCP; by default nothing. */
  records?: Pick<Records, "fetch"> | undefined;
  /** Whether there is a narrow endpoint of this name, one step below the path of MCP. By default there is none. */
  hasToolset?: ((name: string) => boolean) | undefined;
  /** What Prometheus reads. */
  metrics?: (() => Promise<string>) | undefined;
  /** Answers browsers in which people log in at servers, below the path of MCP; `undefined` for what it does not know. */
  logins?: ((request: Request) => Promise<Response | undefined>) | undefined;
  /** Takes answers that people give in Slack, at the root of the server; `undefined` where nobody gives any. */
  slack?: ((request: Request) => Promise<Response>) | undefined;
  /** Answers browsers below its own path, such as `/console`, by sessions and not by tokens. @param url of MCP. */
  console?: { path: string; open: (url: URL) => NodeAnswer } | undefined;
  /** Why requests cannot be answered now, such as a storage that is not reached; `undefined` when they can. */
  whyNotReady?: (() => Promise<string | undefined>) | undefined;
  /** How long clients may take, and how often that is looked at. */
  times?: typeof TIMES | undefined;
  onWarning: (message: string) => void;
}

type NodeAnswer = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

/** An HTTP server that listens. */
export class HttpServer {
  /** Where clients reach it. */
  readonly url: URL;
  /** Where it listens itself. */
  readonly port: number;
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  readonly #mcp: McpOverHttp;
  readonly #service: McpService;
  readonly #proxies: BlockList;
  readonly #hosts: string[];
  readonly #console: { path: string; answer: NodeAnswer } | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  /** Responses that are not finished. */
  readonly #open = new Set<ServerResponse>();
  #isDraining = false;

  private constructor(service: McpService, server: Server, options: HttpServerOptions) {
    this.#options = options;
    this.#server = server;
    this.#service = service;
    this.#mcp = new McpOverHttp(service, options);
    this.#proxies = networks(options.trustedProxies);
    const { address, port } = server.address() as AddressInfo;
    this.port = port;
    const own = `${options.tls === undefined ? "http" : "https"}://${isIPv6(address) ? `[${address}]` : address}:${port}/mcp`;
    this.url = new URL(options.publicUrl ?? own);
    const { console } = options;
    this.#console = console && { path: console.path, answer: console.open(this.url) };
    const hosts = options.publicUrl === undefined ? [] : [this.url.hostname];
    this.#hosts = [...(options.listen.isLoopback ? localhostAllowedHostnames() : []), ...hosts];
  }

  /** @throws Error with a message of one line where it cannot listen. */
  static async listen(service: McpService, options: HttpServerOptions): Promise<HttpServer> {
    const { tls, times: given = TIMES } = options;
    const bounds = { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: KEEP_ALIVE_MS };
    const times = {
      headersTimeout: given.headersMs,
      requestTimeout: given.requestMs,
      connectionsCheckingInterval: given.lookMs,
    };
    const server =
      tls === undefined
        ? createServer({ ...bounds, ...times })
        : createTlsServer({ ...bounds, ...times, ...readTls(tls) });
    server.maxConnections = MAX_CONNECTIONS;
    const { host, port } = options.listen;
    server.listen({ host, port });
    await once(server, "listening");
    const serving = new HttpServer(service, server, options);
    serving.#start();
    return serving;
  }

  /** How many answers have not got to their clients yet. */
  get unfinished(): number {
    return this.#open.size;
  }

  /**
   * Ends in order: takes no new requests, lets those under way end for so long, and cancels the rest. Runs that wait for a person
   * are suspended.
   */
  async drain(patienceMs: number): Promise<void> {
    this.#isDraining = true;
    this.#service.programs.suspendWaiting();
    this.#mcp.closeStreams();
    const until = performance.now() + patienceMs;
    while (performance.now() < until && this.#service.programs.running > 0) await delay(50);
    await this.#mcp.cancel();
    // What has been answered gets to its client.
    const answered = performance.now() + LAST_ANSWERS_MS;
    while (performance.now() < answered && this.#open.size > 0) await delay(20);
    await this.close();
  }

  /** Ends at once. */
  async close(): Promise<void> {
    this.#isDraining = true;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#mcp.close();
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #start(): void {
    this.#server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      this.#open.add(response);
      response.once("close", () => this.#open.delete(response));
      this.#answer(request, response).catch((fault: unknown) => {
        this.#options.onWarning(`a request could not be answered: ${messageOf(fault)}`);
        if (!response.headersSent) send(response, 500, rpcError(-32_603, "Internal error"));
        else response.destroy();
      });
    });
    this.#server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      const status = STATUSES[error.code ?? ""] ?? "400 Bad Request";
      if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
      else socket.destroy();
    });
    this.#timers.push(
      setInterval(() => this.#endStuck(), (this.#options.times ?? TIMES).lookMs),
      ...this.#followTls(),
    );
    for (const timer of this.#timers) timer.unref();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const path = (request.url ?? "/").split("?", 1)[0] ?? "/";
    if (path === "/healthz") return send(response, 200, "ok\n");
    if (path === "/readyz") return this.#answerReady(response);
    // Prometheus names a pod by its address. A page in a browser, which the check of names is about, has no token to send.
    const isScrape = path === "/metrics" && request.headers.authorization !== undefined;
    const wrong = this.#whyElsewhere(request, isScrape);
    const from = this.#proxies.check(...addressOf(request)) ? lastOf(request.headers["x-forwarded-for"]) : "";
    if (from) noteClientAddress(request, from);
    if (wrong !== undefined) return send(response, 403, rpcError(-32_000, wrong));
    if (path === "/metrics") return this.#answerMetrics(request, response);
    const toolset = this.#toolsetAt(path);
    if (
      [METADATA_PATH, METADATA_PATH + this.#path].includes(path) ||
      this.#toolsetAt(path.slice(METADATA_PATH.length)) !== undefined
    )
      return this.#answerMetadata(request, response);
    if (path.startsWith(`${this.#path}/logins/`)) return this.#answerLogin(request, response);
    const { slack, records } = this.#options;
    if (path === SLACK_PATH && slack !== undefined)
      return this.#handle(slack, MAX_SLACK_BYTES, request, response);
    const pages = this.#console;
    if (pages !== undefined && (path === pages.path || path.startsWith(`${pages.path}/`)))
      return pages.answer(request, response);
    const isRecord = toolset === undefined && path.startsWith(`${this.#path}/`) && records !== undefined;
    if (path !== this.#path && toolset === undefined && !isRecord)
      return send(response, 404, rpcError(-32_000, `MCP is at ${this.#path}`));
    if (this.#isDraining)
      return send(response, 503, rpcError(-32_000, "ptc is about to end here; try again"), {
        "Retry-After": String(RETRY_SECONDS),
        Connection: "close",
      });
    const identified = await this.#identify(request);
    if (isRefusal(identified)) return this.#refuse(response, identified);
    const context = narrowed(identified.context, toolset === undefined ? [] : [toolset]);
    const caller = { ...identified, context };
    if (!caller.scopes.has("ptc:run")) return this.#refuse(response, lacks("ptc:run"));
    const ended = new Promise<void>((resolve) => response.once("close", resolve));
    const rest = path.slice(this.#path.length + 1);
    const answer = async (given: Request) =>
      isRecord
        ? ((await records.fetch(given, rest, caller)) ?? NOTHING_THERE())
        : this.#mcp.fetch(given, caller, ended);
    return this.#handle(answer, MAX_BODY_BYTES, request, response);
  }

  /** Answers a request by a function over the types of the Fetch standard. Larger bodies than these bytes are refused. */
  #handle(
    fetch: (request: Request) => Promise<Response>,
    maxRequestBodySize: number,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const onerror = ({ message }: Error) => this.#options.onWarning(message);
    const handler = toNodeHandler({ fetch }, { maxRequestBodySize, onerror });
    return handler(request as IncomingMessage & { method: string; url: string }, response);
  }

  get #path(): string {
    return this.url.pathname;
  }

  /** The toolset that is served at a path. */
  #toolsetAt(path: string): string | undefined {
    const [, name = ""] = path.startsWith(`${this.#path}/`) ? [path, path.slice(this.#path.length + 1)] : [];
    return name !== "" && this.#options.hasToolset?.(name) === true ? name : undefined;
  }

  async #answerReady(response: ServerResponse): Promise<unknown> {
    const why = this.#isDraining ? "about to end" : await this.#options.whyNotReady?.();
    return why === undefined ? send(response, 200, "ready\n") : send(response, 503, `${oneLine(why)}\n`);
  }

  /** Answers a browser in which a person logs in at a server. Each cookie has its own header. */
  async #answerLogin(
    { method = "GET", url = "", headers: { cookie = "" } }: IncomingMessage,
    response: ServerResponse,
  ): Promise<unknown> {
    const given = new Request(new URL(url, this.url), { method, headers: { cookie } });
    const answer = await this.#options.logins?.(given);
    if (answer === undefined) return send(response, 404, "There is nothing here.\n");
    response.statusCode = answer.status;
    for (const [name, value] of answer.headers) response.appendHeader(name, value);
    return response.end(await answer.text());
  }

  /** Metrics name tools and servers: they are for this machine, and for administrators. */
  async #answerMetrics(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { metrics } = this.#options;
    if (metrics === undefined) return send(response, 404, rpcError(-32_000, "there are no metrics here"));
    const isLocal = isLoopbackAddress(request.socket.remoteAddress) && !this.#isForwarded(request);
    if (!isLocal || request.headers.authorization !== undefined) {
      const caller = await this.#identify(request);
      if (isRefusal(caller)) return this.#refuse(response, caller);
      if (!caller.scopes.has("ptc:admin")) return this.#refuse(response, lacks("ptc:admin"));
    }
    return send(response, 200, await metrics(), {
      "Content-Type": "text/plain; version=0.0.4; charset=utf-8",
    });
  }

  #answerMetadata({ method }: IncomingMessage, response: ServerResponse): unknown {
    const { authenticator } = this.#options;
    if (authenticator === undefined)
      return send(response, 404, rpcError(-32_000, "nobody has to log in here"));
    if (method !== "GET" && method !== "HEAD") return send(response, 405, "", { Allow: "GET, HEAD" });
    const metadata = { resource: this.url.href, ...authenticator.resourceMetadata };
    return send(response, 200, metadata, {
      "Access-Control-Allow-Origin": "*",
      "Cache-Control": "max-age=300",
    });
  }

  /** Why a request is for another server, or comes from a page of another site. */
  #whyElsewhere(request: IncomingMessage, byAnyName: boolean): string | undefined {
    const { authenticator, tls, listen } = this.#options;
    const isByProxy = this.#proxies.check(...addressOf(request));
    if (authenticator !== undefined && !listen.isLoopback && tls === undefined && !isByProxy)
      return "plain HTTP is taken from http.trusted_proxies alone";
    if (byAnyName) return undefined;
    const forwarded = isByProxy ? lastOf(request.headers["x-forwarded-host"]) : undefined;
    const host = validateHostHeader(forwarded ?? request.headers.host, this.#hosts);
    if (!host.ok) return host.message;
    const origin = validateOriginHeader(request.headers.origin, this.#hosts);
    return origin.ok ? undefined : origin.message;
  }

  #isForwarded({ headers }: IncomingMessage): boolean {
    return headers["x-forwarded-for"] !== undefined || headers.forwarded !== undefined;
  }

  async #identify(request: IncomingMessage): Promise<Caller | Refusal> {
    const { authenticator, anybody } = this.#options;
    const { authorization } = request.headers;
    return authenticator?.authenticate(authorization, clientAddressOf(request)) ?? anybody;
  }

  /** Says how to log in (RFC 6750, section 3; RFC 9728, section 5.1). */
  #refuse(response: ServerResponse, { error, message }: Refusal): unknown {
    if (error === "temporarily_unavailable")
      return send(response, 503, rpcError(-32_000, message), { "Retry-After": String(RETRY_SECONDS) });
    const metadata = new URL(METADATA_PATH + this.#path, this.url).href;
    const scopes = this.#options.authenticator?.requestedScopes ?? [];
    const parts = [
      ...(error === "invalid_request"
        ? []
        : [`error="${error}"`, `error_description="${quotable(message)}"`]),
      ...(scopes.length === 0 ? [] : [`scope="${scopes.join(" ")}"`]),
      `resource_metadata="${metadata}"`,
    ];
    return send(response, error === "insufficient_scope" ? 403 : 401, rpcError(-32_001, message), {
      "WWW-Authenticate": `Bearer ${parts.join(", ")}`,
    });
  }

  /** Closes connections whose client reads nothing, so that they do not keep answers in memory. */
  #endStuck(): void {
    const { stuckMs } = this.#options.times ?? TIMES;
    for (const response of this.#open) {
      const { socket } = response;
      if (socket === null) continue;
      const known = progress.get(socket);
      const sent = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || known?.sent !== sent)
        progress.set(socket, { sent, since: performance.now() });
      else if (performance.now() - known.since > stuckMs) socket.destroy();
    }
  }

  /** Reads certificate and key again when a file changes. ptc warns of files that cannot be used, and keeps the earlier ones. */
  #followTls(): NodeJS.Timeout[] {
    const { tls, onWarning } = this.#options;
    if (tls === undefined) return [];
    const stateOf = () => {
      const states = [tls.cert, tls.key].map((file) => statSync(file, { throwIfNoEntry: false }));
      return states.map((state) => `${state?.ino} ${state?.mtimeMs} ${state?.size}`).join();
    };
    let seen = stateOf();
    const look = () => {
      const now = stateOf();
      if (now === seen) return;
      seen = now;
      try {
        (this.#server as ReturnType<typeof createTlsServer>).setSecureContext(readTls(tls));
      } catch (error) {
        onWarning(`${messageOf(error)}; the certificate of before stays in use`);
      }
    };
    return [setInterval(look, TLS_LOOK_MS)];
  }
}

const TLS_LOOK_MS = 1_000;

const NOTHING_THERE = () => Response.json({ error: "there is nothing here" }, { status: 404 });
/** How requests are refused that cannot be read, by the code of the error. */
const STATUSES: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** How many bytes a connection has accepted, and since when it has accepted no more. */
const progress = new WeakMap<object, { sent: number; since: number }>();

/** @throws Error whose message names the setting and the file. */
function readTls({ cert, key }: { cert: string; key: string }): { cert: Buffer; key: Buffer } {
  const read = (file: string, setting: string) => {
    try {
      return readFileSync(file);
    } catch (cause) {
      throw new Error(
        `http.tls.${setting}: ${file} cannot be read (${(cause as NodeJS.ErrnoException).code})`,
        { cause },
      );
    }
  };
  return { cert: read(cert, "cert"), key: read(key, "key") };
}

function networks(entries: readonly string[]): BlockList {
  const known = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (isIP(address) === 0) continue;
    if (bits === undefined) known.addAddress(address, family);
    else known.addSubnet(address, Number(bits), family);
  }
  return known;
}

/** The address of the client, in the family in which it was written. */
function addressOf({ socket }: IncomingMessage): [string, "ipv4" | "ipv6"] {
  const address = (socket.remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/i, "");
  return [isIP(address) === 0 ? "0.0.0.0" : address, isIPv6(address) ? "ipv6" : "ipv4"];
}

function isLoopbackAddress(address = ""): boolean {
  return address === "::1" || /^(?:::ffff:)?127\./.test(address);
}

/** The last of several values, which the nearest proxy has added. */
function lastOf(header: string | string[] | undefined): string | undefined {
  return [header ?? []].flat().join(",").split(",").at(-1)?.trim() || undefined;
}

function lacks(scope: string): Refusal {
  return { error: "insufficient_scope", message: `this login lacks the scope ${scope}` };
}

function quotable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]|["\\]/g, "'");
}

function rpcError(code: number, message: string) {
  return { jsonrpc: "2.0", error: { code, message }, id: null };
}

/** Answers with a text, or with JSON. Returns the response, for callers that end with it. */
function send(
  response: ServerResponse,
  status: number,
  body: string | object,
  headers: Readonly<Record<string, string>> = {},
): ServerResponse {
  const isText = typeof body === "string";
  response.writeHead(status, {
    "Content-Type": isText ? "text/plain; charset=utf-8" : "application/json",
    "X-Content-Type-Options": "nosniff",
    ...headers,
  });
  return response.end(isText ? body : writeJson(body));
}
