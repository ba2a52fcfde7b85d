import { ForeignJsonError, isObject, parseForeignJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import type { Fetch } from "../../system/outgoing.ts";
import type { ToolProblem, UpstreamCall, UpstreamConnection, UpstreamListing } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";
import { type ApiCredential, neededCredentials, withCredentials } from "./credentials.ts";
import type { ApiDescription } from "./description.ts";
import { kindOf, plainType } from "./media-types.ts";
import type { ApiOperation } from "./operations.ts";
import { nextArguments } from "./pagination.ts";
import { isBelow } from "./paths.ts";
import { type ApiRequest, buildRequest, UnusableArguments } from "./request.ts";
import { placeOf } from "./servers.ts";

/** The maximum size of an answer, as for MCP servers. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const MAX_REDIRECTS = 5;
const MAX_SAID_CHARS = 2_000;
/** What a failure keeps of an answer that is no JSON. */
const MAX_TEXT_CHARS = 16_384;
/** Where a result has the arguments of the call that gives the next page. Programs find them with `pages`. */
const NEXT_PAGE = "ptc/next";
const ACCEPT = "application/json, application/*+json;q=0.9, text/*;q=0.5, */*;q=0.1";

export interface OpenApiConnectionOptions {
  readonly description: Pick<ApiDescription, "title" | "version" | "servers">;
  readonly operations: readonly ApiOperation[];
  readonly problems: readonly ToolProblem[];
  /** Requests go below it. */
  readonly base: URL;
  /** The URL of the description; `undefined` for a file. */
  readonly from?: URL | undefined;
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

/** An operation with the URL that its path is below. */
type PlacedOperation = ApiOperation & { readonly at: URL };

/**
 * Presents an HTTP API as a server: each operation of its description is a tool, and each call is one request, which is sent once.
 */
export class OpenApiConnection implements UpstreamConnection {
  readonly #options: OpenApiConnectionOptions;
  readonly #operations = new Map<string, PlacedOperation>();
  readonly #problems: ToolProblem[];
  readonly #closed = new AbortController();

  constructor(options: OpenApiConnectionOptions) {
    this.#options = options;
    this.#problems = [...options.problems];
    const { base, description, from } = options;
    for (const operation of options.operations) {
      const { name, servers } = operation;
      const at = servers === undefined ? base : placeOf(servers, description.servers, { base, from });
      if (at !== undefined) this.#operations.set(name, { ...operation, at });
      else
        this.#problems.push({
          tool: name,
          message: `is left out: the description has it at ${visibleLine(servers?.[0] ?? "no URL").slice(0, 200)}, which is not below ${base.href}; an entry of its own, with that base_url and an include, can have it`,
        });
    }
  }

  async list(): Promise<UpstreamListing> {
    const { title, version } = this.#options.description;
    return {
      implementation: { name: title, version },
      protocolVersion: "2025-11-25",
      tools: [...this.#operations.values()].map(({ definition }) => definition),
      problems: this.#problems,
    };
  }

  async callTool({ tool, arguments: args, signal, timeoutMs, spentMs = 0 }: UpstreamCall): Promise<unknown> {
    const operation = this.#operations.get(tool);
    if (operation === undefined) return failed(`there is no operation '${tool}'`);
    const given = isObject(args) ? args : {};
    let request: ApiRequest;
    try {
      request = buildRequest(operation, given, operation.at);
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
    let status: number | undefined;
    try {
      const response = await this.#send(operation, request, over);
      status = response.status;
      const answer = await answerOf(operation, request.url, response);
      if (!isObject(answer) || answer.isError === true) return answer;
      const next = nextArguments(operation, {
        arguments: given,
        value: answer.structuredContent,
        headers: response.headers,
        url: request.url,
      });
      return next === undefined ? answer : { ...answer, _meta: { [NEXT_PAGE]: next } };
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      const began =
        status === undefined ? "" : `; the request was made, and its answer (HTTP ${status}) began`;
      if (late.aborted)
        throw new UpstreamError(
          "call_timeout",
          `'${tool}' gave no ${status === undefined ? "" : "whole "}answer within ${timeoutMs / 1_000} s${began}`,
        );
      if (over.aborted) throw new UpstreamError("cancelled", `'${tool}' was cancelled`);
      const { cause } = error as { cause?: { code?: string; message?: string } };
      const why = cause?.code ?? cause?.message ?? (error instanceof Error ? error.message : String(error));
      const { host } = operation.at;
      const what =
        status === undefined ? `${host} cannot be reached: ${why}` : `${host} broke off: ${why}${began}`;
      throw new UpstreamError("disconnected", what, { cause: error });
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

  /** Follows redirects of requests that change nothing, and to what is below the API's URL alone, since credentials go with them. */
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
      const { base } = this.#options;
      if (next === undefined || !isBelow(base, next)) {
        const place =
          next === undefined
            ? "no URL"
            : next.origin === base.origin
              ? next.origin + next.pathname
              : next.origin;
        throw new UpstreamError(
          "remote_error",
          `the answer is at ${visibleLine(place).slice(0, 500)}, where ptc does not follow; the request was made`,
        );
      }
      if (redirects === MAX_REDIRECTS)
        throw new UpstreamError("remote_error", `the API redirects more than ${MAX_REDIRECTS} times`);
      at = next;
    }
  }
}

/** An answer as the result of a tool. */
async function answerOf({ method }: ApiOperation, url: URL, response: Response): Promise<unknown> {
  const bytes = await boundedBody(response);
  const header = response.headers.get("content-type") ?? "";
  const type = plainType(header);
  const { text, problem } = decodeText(bytes, header, type);
  const { status } = response;
  const isEmpty = bytes.length === 0 || method === "HEAD";
  if (!response.ok) return refused(response, isEmpty ? {} : readBody(type, text));
  if (isEmpty) return { content: [], structuredContent: null };
  const kind = type === "" ? "text" : kindOf(type);
  if (kind === "json" || kind === "text") {
    if (problem !== undefined) return unreadable(status, `${problem}, so that it cannot be read`, text);
    // Nothing but white space is an empty answer, as some servers send after a change.
    if (kind === "json" && text.trim() === "") return { content: [], structuredContent: null };
    const read = readBody(type, text);
    if (kind === "json" && "problem" in read)
      return unreadable(status, `is said to be JSON, and ${read.problem}`, text);
    return { content: [], structuredContent: "value" in read ? read.value : text };
  }
  const blob = Buffer.from(bytes).toString("base64");
  const media = /^(image|audio)\//.exec(type)?.[1];
  if (media !== undefined) return { content: [{ type: media, data: blob, mimeType: type }] };
  return {
    // A query may hold a key.
    content: [{ type: "resource", resource: { uri: `${url.origin}${url.pathname}`, mimeType: type, blob } }],
  };
}

/** The failure for an answer that says of itself what it is not. The API has done what it was asked, so the text goes along. */
function unreadable(status: number, what: string, text: string): unknown {
  return {
    ...(failed(
      `the request was made (HTTP ${status}), but its answer ${what}; do not repeat it unseen, the text is in the failure's data`,
    ) as object),
    structuredContent: { status, body: cutText(text) },
  };
}

/** The text of an answer in its charset (RFC 9110, section 8.3.2), and why it may be another. Byte order marks are no part of it. */
function decodeText(bytes: Uint8Array, header: string, type: string): { text: string; problem?: string } {
  const [, quoted, bare] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i.exec(header) ?? [];
  const head = Buffer.from(bytes.subarray(0, 200)).toString("latin1");
  const [, inProlog] = /[/+]xml$/.test(type)
    ? (/^<\?xml[^>]*?\sencoding\s*=\s*["']([\w.-]+)["']/.exec(head) ?? [])
    : [];
  const mark = head.startsWith("\xff\xfe")
    ? "utf-16le"
    : head.startsWith("\xfe\xff")
      ? "utf-16be"
      : undefined;
  const isMarked = head.startsWith("\xef\xbb\xbf");
  const label = (isMarked ? "utf-8" : mark) ?? (quoted ?? bare ?? inProlog)?.trim().replaceAll("'", "");
  try {
    return { text: new TextDecoder(label ?? "utf-8").decode(bytes) };
  } catch {
    const shown = visibleLine(label ?? "").slice(0, 60);
    return {
      text: new TextDecoder().decode(bytes),
      problem: `is in the charset "${shown}", which ptc does not know`,
    };
  }
}

type ReadBody = { value: unknown } | { text: string; problem: string };

/** A body as JSON, if it is said to be, or nothing is said and it is. */
function readBody(type: string, text: string): ReadBody {
  const isSilent = type === "" && /^\s*[[{]/.test(text);
  if (type !== "" && kindOf(type) !== "json") return { text, problem: "is no JSON" };
  if (type === "" && !isSilent) return { text, problem: "is no JSON" };
  try {
    return { value: parseForeignJson(text, { maxBytes: MAX_ANSWER_BYTES, maxDepth: MAX_NESTING_DEPTH }) };
  } catch (error) {
    const said = error instanceof ForeignJsonError ? error.message : "is not";
    return { text, problem: visibleLine(said).slice(0, 200) };
  }
}

function cutText(text: string): string {
  return text.length <= MAX_TEXT_CHARS
    ? text
    : `${text.slice(0, MAX_TEXT_CHARS).replace(/[\uD800-\uDBFF]$/, "")}… (${text.length} characters)`;
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

/** Status codes after which another attempt may succeed. */
const TRY_AGAIN = [408, 425, 429, 502, 503, 504];

/** The failure reported by an API: its status, its message, and when to try again (RFC 9110, section 10.2.3). */
function refused({ status, statusText, headers }: Response, body: ReadBody | object): unknown {
  const type = plainType(headers.get("content-type") ?? "");
  const value = "value" in body ? body.value : undefined;
  const text =
    "text" in body && (type === "" || kindOf(type) !== "binary") ? cutText(String(body.text)) : undefined;
  const own = type === "text/plain" && text !== undefined ? text.trim() : undefined;
  const location = status >= 300 && status < 400 ? headers.get("location") : null;
  const said =
    location === null
      ? (saidIn(value) ?? (own || statusText))
      : `the answer is at ${location.slice(0, 500)}, where ptc does not follow`;
  const after = secondsUntil(headers.get("retry-after"));
  const again = after === undefined ? "" : `; it may be tried again in ${after} s`;
  const message = `HTTP ${status}${said === "" ? "" : `: ${visibleLine(said).slice(0, MAX_SAID_CHARS)}`}${again}`;
  if (TRY_AGAIN.includes(status)) throw new UpstreamError("remote_error", message, { retryable: true });
  return {
    isError: true,
    content: [{ type: "text", text: message }],
    structuredContent: { status, body: value ?? text ?? null },
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
