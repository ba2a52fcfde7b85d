import { readFile, stat } from "node:fs/promises";
import { visibleLine } from "../../base/visible-text.ts";
import { type Fetch, outgoingFetch } from "../../system/outgoing.ts";
import type { Authorization } from "../authorization/authorization.ts";
import { buildAuthorizedFetch } from "../authorization/authorized-fetch.ts";
import { zoneOf } from "../authorization/guarded-fetch.ts";
import { UpstreamError } from "../upstream-error.ts";
import { type ApiDescription, MAX_DESCRIPTION_BYTES, parseDescription } from "./description.ts";
import { OpenApiConnection } from "./openapi-connection.ts";
import type { OperationFilter } from "./operations.ts";

/** An HTTP API in the configuration. */
export interface ApiTarget {
  /** The location of its description: an absolute path or a URL. */
  readonly openapi: string;
  /** The URL of the API; empty if its description names it. */
  readonly url: string;
  readonly operations: OperationFilter;
}

export interface OpenApiOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly authorization: Authorization | undefined;
  /** ptc's own version. */
  readonly version: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Reads the description of an API and opens a connection to it. @throws UpstreamError */
export async function openApi(target: ApiTarget, options: OpenApiOptions): Promise<OpenApiConnection> {
  const { headers, authorization, version } = options;
  const isUrl = /^https?:\/\//i.test(target.openapi);
  const from = isUrl ? new URL(target.openapi) : undefined;
  const configured = target.url === "" ? undefined : new URL(target.url);
  const fetch: Fetch =
    authorization === undefined || configured === undefined
      ? outgoingFetch
      : buildAuthorizedFetch(outgoingFetch, configured, authorization);
  // Credentials are sent only to the API's own origin.
  const isSame = configured !== undefined && from?.origin === configured.origin;
  const text =
    from === undefined
      ? await readDescription(target.openapi)
      : await fetchDescription(from, isSame ? fetch : outgoingFetch, isSame ? headers : {}, options);
  const description = parseDescription(text, `at ${visibleLine(target.openapi)}`);
  const base = configured ?? baseOf(description, from);
  const current = authorization && (() => authorization.secrets());
  return new OpenApiConnection({
    ...{ description, base, filter: target.operations, headers, fetch, version },
    secrets: current,
  });
}

async function readDescription(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size > MAX_DESCRIPTION_BYTES) throw tooLarge(path);
    return await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof UpstreamError) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : `it cannot be read (${code})`;
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
