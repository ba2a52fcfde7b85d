import { isObject, parseForeignJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import type { Fetch } from "../../system/outgoing.ts";
import type { ToolProblem, UpstreamCall, UpstreamConnection, UpstreamListing } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";
import { type ApiCredential, neededCredentials, withCredentials } from "./credentials.ts";
import type { ApiDescription } from "./description.ts";
import { type ApiOperation, kindOf } from "./operations.ts";
import { nextArguments } from "./pagination.ts";
import { type ApiRequest, buildRequest, UnusableArguments } from "./request.ts";

/** The maximum size of an answer, as for MCP servers. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const MAX_SAID_CHARS = 2_000;
/** Where a result has the arguments of the call that gives the next page. Programs find them with `pages`. */
const NEXT_PAGE = "ptc/next";
const ACCEPT = "application/json, application/*+json;q=0.9, text/*;q=0.5, */*;q=0.1";

export interface OpenApiConnectionOptions {
  readonly description: Pick<ApiDescription, "title" | "version">;
  readonly operations: readonly ApiOperation[];
  readonly problems: readonly ToolProblem[];
  /** Requests go below it. */
  readonly base: URL;
  /** What is sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is sent with each request whose operation asks for it. */
  readonly credentials?: readonly ApiCredential[];
  /** Adds tokens, where there is a login. */
  readonly fetch: Fetch;
  /** The version in the `user-agent` header. */
  readonly version: string;
  readonly secrets?: (() => readonly string[]) | undefined;
  /** Ends the connections that are its own. */
  readonly onClose?: () => Promise<void>;
}

/**
 * Presents an HTTP API as a server: each operation of its description is a tool, and each call is one request, which is sent once.
 */
export class OpenApiConnection implements UpstreamConnection {
  readonly #options: OpenApiConnectionOptions;
  readonly #operations: ReadonlyMap<string, ApiOperation>;
  readonly #closed = new AbortController();

  constructor(options: OpenApiConnectionOptions) {
    this.#options = options;
    this.#operations = new Map(options.operations.map((operation) => [operation.name, operation]));
  }

  async list(): Promise<UpstreamListing> {
    const { title, version } = this.#options.description;
    return {
      implementation: { name: title, version },
      protocolVersion: "2025-11-25",
      tools: [...this.#operations.values()].map(({ definition }) => definition),
      problems: this.#options.problems,
    };
  }

  async callTool({ tool, arguments: args, signal, timeoutMs, spentMs = 0 }: UpstreamCall): Promise<unknown> {
    const operation = this.#operations.get(tool);
    if (operation === undefined) return failed(`there is no operation '${tool}'`);
    const given = isObject(args) ? args : {};
    let request: ApiRequest;
    try {
      request = buildRequest(operation, given, this.#options.base);
    } catch (error) {
      if (error instanceof UnusableArguments) return failed(error.message);
      throw error;
    }
    const { headers } = request;
    for (const [name, value] of Object.entries(this.#options.headers)) headers.set(name, value);
    if (!headers.has("accept")) headers.set("accept", ACCEPT);
    if (!headers.has("user-agent")) headers.set("user-agent", `ptc/${this.#options.version}`);
    const late = AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs - spentMs)));
    const over = AbortSignal.any([signal, this.#closed.signal, late]);
    try {
      const response = await this.#send(operation, request, over);
      const answer = await answerOf(operation, request.url, response);
      if (!isObject(answer) || answer.isError === true) return answer;
      const next = nextArguments(operation, {
        ...{ arguments: given, value: answer.structuredContent, headers: response.headers, url: request.url },
      });
      return next === undefined ? answer : { ...answer, _meta: { [NEXT_PAGE]: next } };
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      if (late.aborted)
        throw new UpstreamError("call_timeout", `'${tool}' gave no answer within ${timeoutMs / 1_000} s`);
      if (over.aborted) throw new UpstreamError("cancelled", `'${tool}' was cancelled`);
      const { cause } = error as { cause?: { code?: string; message?: string } };
      const why = cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
      throw new UpstreamError("disconnected", `${this.#options.base.host} cannot be reached: ${why}`, {
        cause: error,
      });
    }
  }

  onToolsChanged(): void {
    // The description is read again with the next connection.
  }

  onLost(): void {
    // Each request uses a separate connection.
  }

  secrets(): readonly string[] {
    return this.#options.secrets?.() ?? [];
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#options.onClose?.();
  }

  /** Follows redirects of requests that change nothing, and to the API's own origin alone, since credentials go with them. */
  async #send(
    { security }: ApiOperation,
    { url, method, headers, body }: ApiRequest,
    signal: AbortSignal,
  ): Promise<Response> {
    const credentials = neededCredentials(security, this.#options.credentials ?? []);
    let at = url;
    for (let redirects = 0; ; redirects++) {
      const sent = withCredentials({ url: at, headers }, credentials);
      const init = { method, headers: sent.headers, signal, redirect: "manual" as const };
      const response = await this.#options.fetch(sent.url, body === undefined ? init : { ...init, body });
      const location = response.headers.get("location");
      const isRedirect = [301, 302, 303, 307, 308].includes(response.status) && location !== null;
      if (!isRedirect || (method !== "GET" && method !== "HEAD")) return response;
      const next = URL.canParse(location, at.href) ? new URL(location, at.href) : undefined;
      await response.body?.cancel().catch(() => {});
      if (next?.origin !== this.#options.base.origin)
        throw new UpstreamError(
          "remote_error",
          `the answer is at ${next === undefined ? "no URL" : visibleLine(next.origin)}, where ptc does not follow; the request was made`,
        );
      if (redirects === MAX_REDIRECTS)
        throw new UpstreamError("remote_error", `the API redirects more than ${MAX_REDIRECTS} times`);
      at = next;
    }
  }
}

/** An answer as the result of a tool. */
async function answerOf({ method }: ApiOperation, url: URL, response: Response): Promise<unknown> {
  const bytes = await boundedBody(response);
  const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  const text = () => new TextDecoder().decode(bytes);
  if (!response.ok) return refused(response, readValue(type, text()));
  if (bytes.length === 0 || method === "HEAD") return { content: [], structuredContent: null };
  const kind = type === "" ? "text" : kindOf(type);
  if (kind === "json") {
    const value = readValue(type, text());
    if (value === undefined)
      return failed(`the answer (HTTP ${response.status}) is said to be JSON, and is not`);
    return { content: [], structuredContent: value };
  }
  if (kind === "text") return { content: [], structuredContent: text() };
  const blob = Buffer.from(bytes).toString("base64");
  const media = /^(image|audio)\//.exec(type)?.[1];
  if (media !== undefined) return { content: [{ type: media, data: blob, mimeType: type }] };
  return {
    // A query may hold a key.
    content: [{ type: "resource", resource: { uri: `${url.origin}${url.pathname}`, mimeType: type, blob } }],
  };
}

async function boundedBody(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new UpstreamError(
        "remote_error",
        `the answer is larger than ${MAX_ANSWER_BYTES / 1024 ** 2} MiB; the request was made`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function readValue(type: string, text: string): unknown {
  if (kindOf(type) !== "json") return undefined;
  try {
    return parseForeignJson(text, { maxBytes: MAX_ANSWER_BYTES, maxDepth: MAX_NESTING_DEPTH });
  } catch {
    return undefined;
  }
}

/** Status codes after which another attempt may succeed. */
const TRY_AGAIN = [408, 425, 429, 502, 503, 504];

/** The failure reported by an API: its status, its message, and when to try again (RFC 9110, section 10.2.3). */
function refused({ status, statusText, headers }: Response, value: unknown): unknown {
  const said = saidIn(value) ?? statusText;
  const after = secondsUntil(headers.get("retry-after"));
  const again = after === undefined ? "" : `; it may be tried again in ${after} s`;
  const message = `HTTP ${status}${said === "" ? "" : `: ${visibleLine(said).slice(0, MAX_SAID_CHARS)}`}${again}`;
  if (TRY_AGAIN.includes(status)) throw new UpstreamError("remote_error", message, { retryable: true });
  return {
    isError: true,
    content: [{ type: "text", text: message }],
    structuredContent: { status, body: value ?? null },
  };
}

/** The message in an error body, in common forms, including problem details (RFC 9457). */
function saidIn(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  if (!isObject(value)) return undefined;
  for (const key of ["message", "detail", "error_description", "error", "errorMessage", "title", "errors"]) {
    const each = value[key];
    const said = saidIn(Array.isArray(each) ? each[0] : each);
    if (said !== undefined) return said;
  }
  return undefined;
}

function secondsUntil(header: string | null): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1_000));
}

function failed(text: string): unknown {
  return { isError: true, content: [{ type: "text", text }] };
}
