import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { decodeFile } from "../../base/file-text.ts";
import { RecentlyUsed } from "../../base/recently-used.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { type ConnectOptions, type Fetch, outgoingFetch, ownFetch, proxyFor } from "../../system/outgoing.ts";
import type { Authorization } from "../authorization/authorization.ts";
import { buildAuthorizedFetch } from "../authorization/authorized-fetch.ts";
import { type AddressRule, checkByProxy, guardedLookup, zoneOf } from "../authorization/guarded-fetch.ts";
import { UpstreamError } from "../upstream-error.ts";
import { type ApiCredential, CREDENTIALS, readCredentials } from "./credentials.ts";
import { type ApiDescription, MAX_DESCRIPTION_BYTES, parseDescription } from "./description.ts";
import { OpenApiConnection } from "./openapi-connection.ts";
import { type OperationFilter, readOperations } from "./operations.ts";

/** An HTTP API in the configuration. */
export interface ApiTarget {
  /** The location of its description: an absolute path or a URL. */
  readonly openapi: string;
  /** The URL of the API; empty if its description names it. */
  readonly url: string;
  readonly operations: OperationFilter;
}

export interface OpenApiOptions {
  /**
   * What is sent with each request; under `credentials/NAME` what a security scheme of the description says where to send; and under
   * `certificate/cert` and `certificate/key` the certificate that ptc shows, in PEM.
   */
  readonly headers: Readonly<Record<string, string>>;
  readonly authorization: Authorization | undefined;
  /** ptc's own version. */
  readonly version: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Reads the description of an API and opens a connection to it. @throws UpstreamError */
export async function openApi(target: ApiTarget, options: OpenApiOptions): Promise<OpenApiConnection> {
  const { authorization, version } = options;
  // No header's name has a slash.
  const headers = Object.fromEntries(Object.entries(options.headers).filter(([name]) => !name.includes("/")));
  const { "certificate/cert": cert, "certificate/key": key } = options.headers;
  const certificate = cert === undefined || key === undefined ? {} : { certificate: { cert, key } };
  const isUrl = /^https?:\/\//i.test(target.openapi);
  const from = isUrl ? new URL(target.openapi) : undefined;
  const configured = target.url === "" ? undefined : new URL(target.url);
  const own =
    configured === undefined
      ? guardedFetch(from)
      : certificate.certificate === undefined
        ? undefined
        : certifiedFetch(certificate);
  const plain = own?.fetch ?? outgoingFetch;
  const fetch: Fetch =
    authorization === undefined || configured === undefined
      ? plain
      : buildAuthorizedFetch(plain, configured, authorization);
  // Credentials go to the API's own origin alone.
  const isSame = configured !== undefined && from?.origin === configured.origin;
  const text =
    from === undefined
      ? await readDescription(target.openapi)
      : await fetchDescription(from, isSame ? fetch : outgoingFetch, isSame ? headers : {}, options);
  const known = readOnce(text, `at ${visibleLine(target.openapi)}`);
  const base = configured ?? baseOf(known.description, from);
  const credentials = readCredentials(known.description, options.headers);
  // The password of HTTP basic is a secret by itself.
  const passwords = Object.entries(options.headers).flatMap(([name, value]) =>
    name.startsWith(CREDENTIALS) && value.includes(":") ? [value.slice(value.indexOf(":") + 1)] : [],
  );
  return new OpenApiConnection({
    ...{ description: known.description, base, headers, credentials, fetch, version },
    ...operationsOf(known, target.operations, credentials),
    secrets: () => [...passwords, ...(authorization?.secrets() ?? [])],
    ...(own === undefined ? {} : { onClose: own.close }),
  });
}

/** A description that was read, with what was made of it, by filter and credentials. */
interface KnownDescription {
  readonly description: ApiDescription;
  readonly read: RecentlyUsed<string, ReturnType<typeof readOperations>>;
}

/** By the digest of its text: each principal has a connection, and a large text takes seconds. It weighs its characters. */
const knownDescriptions = new RecentlyUsed<string, KnownDescription>({
  maxEntries: 32,
  maxWeight: 64 * 1024 * 1024,
});
/** Filters of one description. */
const MAX_READ = 8;

function readOnce(text: string, from: string): KnownDescription {
  const digest = createHash("sha256").update(text).digest("base64");
  const known = knownDescriptions.get(digest);
  if (known !== undefined) return known;
  const description = parseDescription(text, from);
  const found: KnownDescription = { description, read: new RecentlyUsed({ maxEntries: MAX_READ }) };
  knownDescriptions.set(digest, found, text.length);
  return found;
}

function operationsOf(
  { description, read }: KnownDescription,
  filter: OperationFilter,
  credentials: readonly ApiCredential[],
): ReturnType<typeof readOperations> {
  const own = credentials.map(({ in: place, name }) => [place, name]);
  const key = JSON.stringify([filter.include, filter.exclude, own]);
  const made = read.get(key) ?? readOperations(description, filter, credentials);
  read.set(key, made);
  return made;
}

/** A fetch that shows a certificate. */
function certifiedFetch(options: ConnectOptions): { fetch: Fetch; close(): Promise<void> } {
  try {
    return ownFetch(options);
  } catch (cause) {
    throw new UpstreamError(
      "start_failed",
      "client_certificate: cert and key must be a certificate and its key, in PEM",
      { cause },
    );
  }
}

/**
 * A fetch for an API that its description alone places: at public addresses, or where the description is from. Names are looked up
 * as it connects, so that one cannot come to stand for another address in between.
 */
function guardedFetch(from: URL | undefined): { fetch: Fetch; close(): Promise<void> } {
  const rule: AddressRule = {
    rule: "an OpenAPI description may not lead; say with base_url where the API is",
    allows: (url, address) => url.origin === from?.origin || zoneOf(address) === "public",
    reached: () => {},
  };
  const { fetch, close } = ownFetch({ lookup: (url) => guardedLookup(url, rule) });
  return {
    async fetch(input, init) {
      const url = new URL(input);
      if (proxyFor(url) !== undefined) await checkByProxy(url, rule);
      return fetch(input, init);
    },
    close,
  };
}

async function readDescription(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > MAX_DESCRIPTION_BYTES) throw tooLarge(path);
    return decodeFile(await readFile(path));
  } catch (cause) {
    if (cause instanceof UpstreamError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const unread =
      cause instanceof TypeError
        ? "it is not text in UTF-8; save it as UTF-8"
        : `it cannot be read (${code})`;
    const why = code === "ENOENT" ? "there is no such file" : unread;
    throw new UpstreamError("start_failed", `the OpenAPI description at ${visibleLine(path)}: ${why}`, {
      cause,
    });
  }
}

async function fetchDescription(
  from: URL,
  fetch: Fetch,
  headers: Readonly<Record<string, string>>,
  { timeoutMs, signal }: OpenApiOptions,
): Promise<string> {
  const place = visibleLine(from.href);
  const late = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(from, {
      headers: { ...headers, accept: "application/json, application/yaml, text/yaml, */*;q=0.5" },
      redirect: "manual",
      signal: AbortSignal.any([signal, late]),
    });
    const location = response.headers.get("location");
    if (!response.ok) {
      await response.body?.cancel().catch(() => {});
      const where = location === null ? "" : `, which leads to ${visibleLine(location)}; write that URL`;
      throw new UpstreamError("handshake_failed", `${place} answered HTTP ${response.status}${where}`);
    }
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > MAX_DESCRIPTION_BYTES) throw tooLarge(place);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("utf8");
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    if (late.aborted)
      throw new UpstreamError("connect_timeout", `${place} gave no answer within ${timeoutMs / 1_000} s`);
    if (signal.aborted) throw new UpstreamError("cancelled", `${place} is not read: no longer needed`);
    const { cause } = error as { cause?: { code?: string } };
    const why = cause?.code ?? (error instanceof Error ? error.message : String(error));
    throw new UpstreamError("start_failed", `${place} cannot be reached: ${why}`, { cause: error });
  }
}

function tooLarge(place: string): UpstreamError {
  const most = MAX_DESCRIPTION_BYTES / 1024 ** 2;
  return new UpstreamError(
    "protocol_error",
    `the OpenAPI description at ${visibleLine(place)} is larger than ${most} MiB`,
  );
}

/**
 * The URL of the API according to its description (OpenAPI 3.1, "Server Object"). Because descriptions are not trusted, it must be on
 * a public host, or on the host of the description.
 */
function baseOf({ document }: ApiDescription, from: URL | undefined): URL {
  const [first] = (Array.isArray(document.servers) ? document.servers : []) as {
    url?: unknown;
    variables?: Record<string, { default?: unknown } | undefined>;
  }[];
  const template = typeof first?.url === "string" ? first.url : "/";
  const text = template.replaceAll(/\{([^{}]*)\}/g, (_, name: string) =>
    String(first?.variables?.[name]?.default ?? ""),
  );
  const url = URL.canParse(text, from?.href) ? new URL(text, from?.href) : undefined;
  const advice = "say with base_url where the API is";
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UpstreamError("protocol_error", `the OpenAPI description names no host; ${advice}`);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isName = !/^[\d.]+$|:/.test(host);
  const isHere = host === "localhost" || host.endsWith(".localhost");
  if (url.origin !== from?.origin && (isHere || (!isName && zoneOf(host) !== "public")))
    throw new UpstreamError(
      "protocol_error",
      `the OpenAPI description leads to ${visibleLine(url.host)}, which is no public host; ${advice}`,
    );
  url.username = "";
  url.password = "";
  return url;
}
