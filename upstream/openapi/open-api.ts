import { readFile, stat } from "node:fs/promises";
import { decodeFile } from "../../base/file-text.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { type ConnectOptions, type Fetch, outgoingFetch, ownFetch, proxyFor } from "../../system/outgoing.ts";
import type { Authorization } from "../authorization/authorization.ts";
import { buildAuthorizedFetch } from "../authorization/authorized-fetch.ts";
import { type AddressRule, checkByProxy, guardedLookup, zoneOf } from "../authorization/guarded-fetch.ts";
import { UpstreamError } from "../upstream-error.ts";
import { CREDENTIALS, readCredentials } from "./credentials.ts";
import { MAX_DESCRIPTION_BYTES } from "./description.ts";
import { OpenApiConnection } from "./openapi-connection.ts";
import type { OperationFilter } from "./operations.ts";
import { prepared } from "./preparation.ts";
import { baseOf } from "./servers.ts";

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
  /** The project's private folder, which keeps what is made of a large description. */
  readonly privateFolder?: string | undefined;
  /** Receives one line when a description takes long to read. */
  readonly onSlow?: ((message: string) => void) | undefined;
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
  const bytes =
    from === undefined
      ? await readDescription(target.openapi)
      : await fetchDescription(from, isSame ? fetch : outgoingFetch, isSame ? headers : {}, options);
  const names = Object.keys(options.headers).filter((name) => name.startsWith(CREDENTIALS));
  const { include, exclude } = target.operations;
  const api = await prepared(bytes, {
    settings: {
      filter: { include, exclude },
      credentials: names.map((name) => name.slice(CREDENTIALS.length)).sort(),
      headers: Object.keys(headers).sort(),
    },
    from: `at ${visibleLine(target.openapi)}`,
    privateFolder: options.privateFolder,
    signal: options.signal,
    onSlow: options.onSlow,
  });
  const { description, schemes, operations, problems } = api;
  const base = configured ?? baseOf(description.servers, from);
  const credentials = readCredentials(schemes, options.headers);
  // The password of HTTP basic is a secret by itself.
  const passwords = Object.entries(options.headers).flatMap(([name, value]) =>
    name.startsWith(CREDENTIALS) && value.includes(":") ? [value.slice(value.indexOf(":") + 1)] : [],
  );
  return new OpenApiConnection({
    description,
    operations,
    problems,
    base,
    from,
    headers,
    credentials,
    fetch,
    version,
    secrets: () => [...passwords, ...(authorization?.secrets() ?? [])],
    ...(own === undefined ? {} : { onClose: own.close }),
  });
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

async function readDescription(path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const { size } = await stat(path);
    if (size > MAX_DESCRIPTION_BYTES) throw tooLarge(path);
    return Buffer.from(decodeFile(await readFile(path)));
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
): Promise<Uint8Array<ArrayBuffer>> {
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
    return Buffer.concat(chunks);
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
