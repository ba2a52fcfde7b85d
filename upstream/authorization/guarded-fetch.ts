import { type LookupAddress, lookup, promises } from "node:dns";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { isObject } from "../../base/json.ts";
import { type Fetch, requestOptionsFor } from "../../system/outgoing.ts";

/** The maximum size of an answer. Metadata and tokens have a few thousand bytes. */
const MAX_BODY_BYTES = 512 * 1024;
const MAX_HEADER_BYTES = 32 * 1024;
const PATIENCE_MS = 20_000;

export interface GuardedFetchOptions {
  guard: AddressGuard;
  signal?: AbortSignal | undefined;
  /** The time limit of one request, including its answer. */
  patienceMs?: number;
}

/** An answer is refused. The message is phrased to follow the name of a host. */
class AnswerRefusedError extends Error {
  override readonly name = "AnswerRefusedError";
}

/**
 * Builds a `fetch` for the URLs in metadata. It checks the address while connecting, or before using a proxy. It does not follow
 * redirects, limits body size and time, refuses credentials in URLs, and opens a new connection for every request.
 *
 * Like `fetch`, rejects with a TypeError, whose message says which host failed and why.
 */
export function buildGuardedFetch({ guard, signal, patienceMs = PATIENCE_MS }: GuardedFetchOptions): Fetch {
  return async (input, init = {}) => {
    const url = new URL(input);
    const limit = AbortSignal.timeout(patienceMs);
    const signals = [limit, ...(signal ? [signal] : []), ...(init.signal ? [init.signal] : [])];
    try {
      return await request(url, init, guard, AbortSignal.any(signals));
    } catch (cause) {
      const why = limit.aborted ? `did not answer within ${patienceMs / 1_000} s` : reasonOf(cause);
      throw new TypeError(`${url.host} ${why}`, { cause });
    }
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof AddressRefusedError || error instanceof AnswerRefusedError) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return `cannot be reached: ${code ?? message}`;
}

async function request(
  url: URL,
  init: RequestInit,
  guard: AddressGuard,
  signal: AbortSignal,
): Promise<Response> {
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw new AnswerRefusedError("is not reached over HTTP");
  if (url.username !== "" || url.password !== "")
    throw new AnswerRefusedError("was named with a user in its URL");
  const host = hostOf(url);
  if (isIP(host) !== 0 && !guard.allows(url, host)) throw refused(host, guard);
  const { request: send } = url.protocol === "https:" ? https : http;
  const { agent = false, ...trusted } = requestOptionsFor(url);
  if (agent !== false) await checkByProxy(url, guard);
  const body = init.body === undefined || init.body === null ? undefined : String(init.body);
  const headers = new Headers(init.headers);
  headers.set("user-agent", "ptc");
  headers.set("connection", "close");
  if (body !== undefined) headers.set("content-length", String(Buffer.byteLength(body)));
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const sent = send(url, {
      method: init.method ?? "GET",
      headers: Object.fromEntries(headers),
      agent,
      ...trusted,
      ...(agent === false ? { lookup: guardedLookup(url, guard) } : {}),
      maxHeaderSize: MAX_HEADER_BYTES,
      signal,
    });
    sent.on("socket", (socket) => {
      // The socket is connected to the proxy.
      if (agent !== false) return;
      socket.once("connect", () => {
        const address = socket.remoteAddress ?? "";
        if (guard.allows(url, address)) guard.reached(url, address);
        else sent.destroy(refused(address, guard));
      });
    });
    sent.on("response", resolve);
    sent.on("error", reject);
    sent.end(body);
  });
  try {
    return await toResponse(answer);
  } finally {
    answer.destroy();
  }
}

/**
 * Checks the destination of a request through a proxy, as far as possible: the proxy looks the name up itself. A name that resolves
 * here to a forbidden address is refused; a name that is unknown here is left to the proxy.
 */
export async function checkByProxy(url: URL, guard: AddressRule): Promise<void> {
  const host = hostOf(url);
  const found = isIP(host) === 0 ? await promises.lookup(host, { all: true }).catch(() => []) : [];
  const [first] = found;
  if (first === undefined) return;
  const best = found.find(({ address }) => guard.allows(url, address));
  if (best === undefined) throw refused(first.address, guard);
  guard.reached(url, best.address);
}

/** Looks a name up, and leaves out the addresses that may not be connected to. */
export function guardedLookup(url: URL, guard: AddressRule): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      const addresses = found as LookupAddress[] | undefined;
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return done(error, "", 0);
      const allowed = addresses?.filter(({ address }) => guard.allows(url, address)) ?? [];
      const [best] = allowed;
      if (best === undefined) return done(refused(first.address, guard), "", 0);
      if (options.all === true) done(null, allowed);
      else done(null, best.address, best.family);
    });
  };
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function refused(address: string, { rule }: AddressRule): AddressRefusedError {
  const zone = zoneOf(address);
  const what =
    zone === "loopback" ? "this machine" : zone === "private" ? "a private network" : "no public host";
  return new AddressRefusedError(`is ${what} (${address}), where ${rule}`);
}

async function toResponse(answer: http.IncomingMessage): Promise<Response> {
  const status = answer.statusCode ?? 0;
  if (status < 200 || status > 599) throw new AnswerRefusedError(`answered HTTP ${status}`);
  if (Number(answer.headers["content-length"] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  if (!answer.complete) throw new AnswerRefusedError("ended its answer in the middle");
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headersDistinct)) {
    for (const each of value ?? []) headers.append(name, each);
  }
  const empty = status === 204 || status === 205 || status === 304;
  return new Response(empty ? null : withoutNulls(Buffer.concat(chunks)), { status, headers });
}

/** Members of metadata and token answers that are numbers (RFC 6749, section 5.1; RFC 7591, section 3.2.1). Some servers send texts. */
const NUMBERS: ReadonlySet<string> = new Set([
  "expires_in",
  "client_id_issued_at",
  "client_secret_expires_at",
]);

/** The text of a JSON object without its members that are null, which many servers send for what they leave out. Other bodies stay. */
function withoutNulls(body: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> | string {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    return body;
  }
  if (!isObject(value)) return body;
  const members = Object.entries(value)
    .filter(([, member]) => member !== null)
    .map(([name, member]) => {
      const isNumber =
        NUMBERS.has(name) && typeof member === "string" && /^\s*\d+(?:\.\d+)?\s*$/.test(member);
      return [name, isNumber ? Number(member) : member];
    });
  return JSON.stringify(Object.fromEntries(members));
}

function tooLarge(): AnswerRefusedError {
  return new AnswerRefusedError(`answered with more than ${MAX_BODY_BYTES / 1024} KiB`);
}

/**
 * A part of the network. `forbidden` addresses are those that metadata must never lead to: link-local addresses, including those
 * from which clouds hand out credentials, and unassigned addresses.
 */
export type Zone = "public" | "private" | "loopback" | "forbidden";

const ZONES: Partial<Record<ReturnType<ipaddr.IPv6["range"] | ipaddr.IPv4["range"]>, Zone>> = {
  unicast: "public",
  private: "private",
  uniqueLocal: "private",
  carrierGradeNat: "private",
  loopback: "loopback",
};

const PREFIX_BYTES_OF_NAT64 = 12;

/** The zone of an IP address. IPv4 mapped into IPv6 counts as IPv4. */
export function zoneOf(address: string): Zone {
  // A scope such as `%eth0` occurs only with link-local addresses.
  if (!ipaddr.isValid(address) || address.includes("%")) return "forbidden";
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  if (range === "rfc6052") return zoneOf(parsed.toByteArray().slice(PREFIX_BYTES_OF_NAT64).join("."));
  return ZONES[range] ?? "forbidden";
}

/** A request is refused because of its destination. The message is phrased to follow the name of a host. */
class AddressRefusedError extends Error {
  override readonly name = "AddressRefusedError";
}

/** Decides which addresses may be connected to. */
export interface AddressRule {
  /** What is not allowed, in words that follow "where". */
  readonly rule: string;
  /** Whether a request to this URL may be made to this address. */
  allows(url: URL, address: string): boolean;
  /** Notes the address that a request reached. */
  reached(url: URL, address: string): void;
}

/**
 * Decides which addresses the metadata of one server may lead to. A server's metadata says where to request tokens, so without this
 * check a server could make ptc connect to something that only this machine or its network can reach (MCP 2025-11-25, Security
 * Best Practices: "Server-Side Request Forgery").
 *
 * The server itself may be anywhere, because the user configured it. Its metadata may lead to public addresses, and to those in the
 * server's own zone: from a server on this machine to loopback and private addresses; from one in a private network to private
 * ones. A server's zone is that of the address at which it was reached, because a name can resolve differently each time.
 */
export class AddressGuard implements AddressRule {
  readonly rule = "the metadata of a server elsewhere may not lead";
  readonly #origin: string;
  #zone: Zone | undefined;

  /** @param known the zone in which the server was reached before, if it was. */
  constructor(serverUrl: string, known?: Zone) {
    const { origin, hostname } = new URL(serverUrl);
    this.#origin = origin;
    this.#zone = known ?? zoneOfName(hostname);
  }

  /** The server's zone; `undefined` if its URL has a name and it has not been reached yet. */
  get zone(): Zone | undefined {
    return this.#zone;
  }

  /** Whether a request to this URL may be made to this address. */
  allows(url: URL, address: string): boolean {
    if (url.origin === this.#origin) return true;
    const zone = zoneOf(address);
    if (zone === "public") return true;
    if (zone === "forbidden") return false;
    return zone === this.#zone || (zone === "private" && this.#zone === "loopback");
  }

  /** Records the address that a request reached. A server that was once at a public address stays public. */
  reached(url: URL, address: string): void {
    if (url.origin !== this.#origin || this.#zone === "public") return;
    this.#zone = zoneOf(address);
  }
}

/** The zone of a host that is an address, or a name for this machine (RFC 6761, section 6.3). */
function zoneOfName(hostname: string): Zone | undefined {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return zoneOf(host);
  return host === "localhost" || host.endsWith(".localhost") ? "loopback" : undefined;
}
