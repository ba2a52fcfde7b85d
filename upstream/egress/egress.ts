/**
 * Carries the connections of a server in a sandbox to the hosts that its configuration names, and to no others. The server has no
 * network: each connection arrives here as a stream with the host and port that the server says it wants. ptc looks the host up,
 * checks the address, connects, and compares what the server then sends with that host: the name in TLS's ClientHello, which is
 * passed on untouched, or the Host of each HTTP request.
 */

import { promises as dns, type LookupAddress } from "node:dns";
import * as http from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf } from "../../base/faults.ts";
import { matchesHost } from "../../protocol/server-launch.ts";
import { openTunnel, proxyFor } from "../../system/outgoing.ts";
import { zoneOf } from "../authorization/guarded-fetch.ts";
import { readServerName } from "./client-hello.ts";

/** A host that a server may reach. */
export interface AllowedHost {
  /** A name in lower case; `*.` in front stands for one or more labels. */
  readonly host: string;
  readonly ports: readonly number[];
  /** Whether its name may lead to a private network. */
  readonly isPrivate: boolean;
}

/** What became of one connection of a server. */
export interface EgressConnection {
  readonly host: string;
  readonly port: number;
  /** Why it was refused or failed, phrased to follow the host; undefined if it was made. */
  readonly problem: string | undefined;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly durationMs: number;
}

export interface EgressOptions {
  readonly allowed: readonly AllowedHost[];
  onConnection(connection: EgressConnection): void;
  /** Receives a host, or a host and port, that is not allowed, once. */
  onRefused(wanted: string): void;
  /** Looks a name up; by default as the system does. */
  lookup?: ((host: string) => Promise<readonly Pick<LookupAddress, "address" | "family">[]>) | undefined;
}

/** The most connections of a server at a time. */
const MAX_CONNECTIONS = 128;
const CONNECT_PATIENCE_MS = 20_000;
/** How long a server may take to send the first bytes of a protocol in which clients speak first. */
const FIRST_BYTES_PATIENCE_MS = 30_000;
const MAX_HELLO_BYTES = 64 * 1024;
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_TOLD = 100;
const PORTS = { https: 443, http: 80 };
const TLS_HANDSHAKE = 0x16;
/** The beginning of a request (RFC 9112, section 3). */
const HTTP_REQUEST = /^[A-Z]{3,16} /;
/** As much as decides whether bytes are a request. */
const REQUEST_START_BYTES = 17;

/** The connections of one server. */
export class Egress {
  readonly #options: EgressOptions;
  readonly #told = new Set<string>();
  #open = 0;

  constructor(options: EgressOptions) {
    this.#options = options;
  }

  /** The server asked for a name that it may not reach. */
  refuse(wanted: string): void {
    if (this.#told.has(wanted) || this.#told.size >= MAX_TOLD) return;
    this.#told.add(wanted);
    this.#options.onRefused(wanted);
  }

  /** Carries a connection. Never throws. */
  connect(host: string, port: number, stream: Duplex): void {
    const began = performance.now();
    const bytes = { sent: 0, received: 0 };
    const rule = this.#options.allowed.find(
      (each) => matchesHost(host, each.host) && each.ports.includes(port),
    );
    if (rule === undefined) {
      stream.destroy();
      this.refuse(`${host}:${port}`);
      return;
    }
    if (this.#open >= MAX_CONNECTIONS) {
      stream.destroy();
      return;
    }
    this.#open++;
    let problem: string | undefined;
    void this.#carry(rule, host, port, stream, bytes)
      .catch((error: unknown) => {
        problem = messageOf(error);
      })
      .finally(() => {
        stream.destroy();
        this.#open--;
        this.#options.onConnection({
          host,
          port,
          problem,
          sentBytes: bytes.sent,
          receivedBytes: bytes.received,
          durationMs: Math.round(performance.now() - began),
        });
      });
  }

  /** Resolves when the connection is over. @throws EgressError, and errors of connecting. */
  async #carry(
    rule: AllowedHost,
    host: string,
    port: number,
    stream: Duplex,
    bytes: { sent: number; received: number },
  ): Promise<void> {
    const open = () => this.#openSocket(rule, host, port);
    const isClientFirst = port === PORTS.https || port === PORTS.http;
    // In other protocols the other end may speak first, so the connection is made before anything is known of it.
    const early = isClientFirst ? undefined : await open();
    try {
      if (early !== undefined) sendBack(early, stream, bytes);
      const first = await firstBytes(stream, isClientFirst ? FIRST_BYTES_PATIENCE_MS : undefined);
      if (first === undefined) {
        if (early !== undefined) await over(early);
        return;
      }
      const kind = first[0] === TLS_HANDSHAKE ? "tls" : isRequest(first) ? "http" : "other";
      if (port === PORTS.https && kind !== "tls")
        throw new EgressError("is reached with TLS alone on port 443");
      if (port === PORTS.http && kind !== "http")
        throw new EgressError("is reached with HTTP alone on port 80");
      if (kind === "http") {
        early?.destroy();
        stream.unshift(first);
        await carryHttp({ host, port, stream, bytes, open });
        return;
      }
      let hello = first;
      if (kind === "tls") {
        hello = await wholeHello(stream, first);
        const name = readServerName(hello)?.name;
        if (name !== host)
          throw new EgressError(`was used for another name in TLS: ${name === undefined ? "none" : name}`);
      }
      const socket = early ?? (await open());
      try {
        if (early === undefined) sendBack(socket, stream, bytes);
        bytes.sent += hello.length;
        socket.write(hello);
        stream.on("data", (chunk: Buffer) => {
          bytes.sent += chunk.length;
        });
        stream.pipe(socket);
        await over(socket, stream);
      } finally {
        socket.destroy();
      }
    } finally {
      early?.destroy();
    }
  }

  /** Connects to a host, by the user's proxy if there is one. @throws EgressError, and errors of connecting. */
  async #openSocket(rule: AllowedHost, host: string, port: number): Promise<Socket> {
    const proxy = proxyFor(new URL(`${port === PORTS.http ? "http" : "https"}://${host}:${port}`));
    const lookup = this.#options.lookup ?? ((name: string) => dns.lookup(name, { all: true }));
    const allows = (address: string) => mayReach(rule, host, address);
    if (proxy !== undefined) {
      // The proxy looks the name up; a name that is unknown here is left to it.
      const found = await lookup(host).catch(() => []);
      const [first] = found;
      if (first !== undefined && !found.some(({ address }) => allows(address))) throw refused(first.address);
      return withErrors(await openTunnel(proxy, `${host}:${port}`));
    }
    const found = await lookup(host);
    const usable = found.filter(({ address }) => allows(address));
    const [first] = found;
    if (usable.length === 0) throw refused(first?.address ?? "no address");
    let failure: unknown;
    for (const { address } of usable) {
      try {
        return await connectTo(address, port);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }
}

/** A connection is refused. The message is phrased to follow the name of a host. */
class EgressError extends Error {
  override readonly name = "EgressError";
}

function refused(address: string): EgressError {
  return new EgressError(
    `leads to ${address}, which is not public; where it is in a private network, say so with \`private: true\``,
  );
}

/** Whether a connection to a host may be made to an address. Nobody but the user names `localhost`, which is this machine. */
function mayReach(rule: AllowedHost, host: string, address: string): boolean {
  const zone = zoneOf(address);
  if (host === "localhost") return zone === "loopback";
  return zone === "public" || (rule.isPrivate && zone === "private");
}

function connectTo(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true });
    socket.setTimeout(CONNECT_PATIENCE_MS, () => socket.destroy(new EgressError("did not answer")));
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.setTimeout(0);
      socket.off("error", reject);
      resolve(withErrors(socket));
    });
  });
}

/** An error ends a connection, which its reader notices by `close`. */
function withErrors(socket: Socket): Socket {
  socket.on("error", () => {});
  return socket;
}

function sendBack(socket: Socket, stream: Duplex, bytes: { received: number }): void {
  socket.on("data", (chunk: Buffer) => {
    bytes.received += chunk.length;
  });
  socket.pipe(stream);
  stream.on("close", () => socket.destroy());
}

/** Resolves when a connection has ended in both directions, or either end is gone. */
function over(...ends: Duplex[]): Promise<void> {
  return new Promise((resolve) => {
    for (const end of ends) {
      if (end.destroyed) resolve();
      end.once("close", resolve);
    }
  });
}

/** The first bytes of a stream; undefined if it ends before. */
function firstBytes(stream: Duplex, patienceMs: number | undefined): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const timer = patienceMs === undefined ? undefined : setTimeout(() => done(undefined), patienceMs);
    const gathered: Buffer[] = [];
    const look = () => {
      for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) gathered.push(chunk as Buffer);
      const all = Buffer.concat(gathered);
      // A few letters may become a request.
      if (
        all.length > 0 &&
        (all.length >= REQUEST_START_BYTES || !/^[A-Z]{1,16}$/.test(all.toString("latin1")))
      )
        done(all);
    };
    const onEnd = () => done(gathered.length === 0 ? undefined : Buffer.concat(gathered));
    const done = (first: Buffer | undefined) => {
      clearTimeout(timer);
      stream.off("readable", look);
      stream.off("end", onEnd);
      stream.off("close", onEnd);
      resolve(first);
    };
    stream.on("readable", look);
    stream.once("end", onEnd);
    stream.once("close", onEnd);
    look();
  });
}

function isRequest(first: Buffer): boolean {
  return HTTP_REQUEST.test(first.subarray(0, REQUEST_START_BYTES).toString("latin1"));
}

/** Reads until a ClientHello is whole. @throws EgressError if it is none. */
async function wholeHello(stream: Duplex, first: Buffer): Promise<Buffer> {
  let hello = first;
  for (;;) {
    const found = readServerName(hello);
    if (found?.isWhole === true) return hello;
    if (found === undefined || hello.length > MAX_HELLO_BYTES)
      throw new EgressError("was sent what begins like TLS and is none");
    const more = await firstBytes(stream, FIRST_BYTES_PATIENCE_MS);
    if (more === undefined) throw new EgressError("was sent a part of TLS's first message alone");
    hello = Buffer.concat([hello, more]);
  }
}

/** The headers that concern one connection alone (RFC 9110, section 7.6.1). */
const OF_CONNECTION: ReadonlySet<string> = new Set(["connection", "keep-alive", "proxy-connection"]);

/**
 * Carries HTTP requests, each of which names its host: one connection could otherwise carry a request for another name behind the
 * first one. Upgraded connections are carried as they are.
 */
function carryHttp({
  host,
  port,
  stream,
  bytes,
  open,
}: {
  host: string;
  port: number;
  stream: Duplex;
  bytes: { sent: number; received: number };
  open: () => Promise<Socket>;
}): Promise<void> {
  const own = new Set([host, `${host}:${port}`]);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      stream.destroy();
      reject(error);
    };
    const check = (request: http.IncomingMessage): boolean => {
      const names = request.headersDistinct.host ?? [];
      const isOwn = names.length === 1 && own.has((names[0] ?? "").toLowerCase());
      if (isOwn && request.url?.startsWith("/") === true) return true;
      fail(new EgressError(`was used for another name in HTTP: ${(names[0] ?? "none").slice(0, 253)}`));
      return false;
    };
    const send = async (request: http.IncomingMessage) => {
      const socket = await open();
      stream.on("close", () => socket.destroy());
      const isUpgrade = request.headers.upgrade !== undefined;
      const headers = pairsOf(request.rawHeaders).filter(
        ([name]) => isUpgrade || !OF_CONNECTION.has(name.toLowerCase()),
      );
      return http.request({
        createConnection: () => socket,
        method: request.method ?? "GET",
        path: request.url ?? "/",
        headers: [...headers, ...(isUpgrade ? [] : [["connection", "close"]])].flat(),
        setHost: false,
        maxHeaderSize: MAX_HEADER_BYTES,
      } as http.RequestOptions);
    };
    const server = http.createServer({ maxHeaderSize: MAX_HEADER_BYTES, requireHostHeader: true });
    server.on("request", (request, response) => {
      if (!check(request)) return;
      void send(request).then((sent) => {
        sent.on("response", (answer) => {
          const headers = pairsOf(answer.rawHeaders).filter(
            ([name]) => !OF_CONNECTION.has(name.toLowerCase()),
          );
          response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers.flat());
          answer.on("data", (chunk: Buffer) => {
            bytes.received += chunk.length;
          });
          answer.on("error", fail);
          answer.pipe(response);
        });
        sent.on("error", fail);
        request.on("data", (chunk: Buffer) => {
          bytes.sent += chunk.length;
        });
        request.pipe(sent);
      }, fail);
    });
    server.on("upgrade", (request, client: Duplex, head) => {
      if (!check(request)) return;
      void send(request).then((sent) => {
        sent.on("upgrade", (answer, socket, rest) => {
          const lines = pairsOf(answer.rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
          client.write(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n${lines.join("")}\r\n`);
          client.write(rest);
          socket.write(head);
          socket.pipe(client).on("error", () => {});
          client.pipe(socket).on("error", () => {});
        });
        sent.on("response", () => fail(new EgressError("refused to change the protocol")));
        sent.on("error", fail);
        sent.end();
      }, fail);
    });
    server.on("connect", () => fail(new EgressError("was asked to be a proxy")));
    server.on("clientError", fail);
    stream.once("close", () => resolve());
    server.emit("connection", stream);
  });
}

function pairsOf(raw: readonly string[]): [string, string][] {
  return Array.from({ length: raw.length / 2 }, (_, index) => [
    raw[index * 2] ?? "",
    raw[index * 2 + 1] ?? "",
  ]);
}
