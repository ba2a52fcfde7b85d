import { setTimeout as delay } from "node:timers/promises";
import { writeJson } from "../../base/json.ts";
import { answeredIdOf, LineSplitter, type OversizeLine } from "../../base/streams.ts";
import { type Fetch, outgoingFetch } from "../../system/outgoing.ts";
import { type Admission, pauseAfter, type RequestId } from "./message-gate.ts";

export interface FetchBounds {
  /** The largest message: a whole body, or one event of an event stream. */
  maxMessageBytes: number;
  /** Decides which parts of a message's text are read. */
  admit(text: string): Admission;
  /**
   * Called for a message that is too large, with the id of the request that it answers, if known. Runs in the
   * asynchronous context of the request.
   */
  onOversize(id: RequestId | undefined): void;
}

/**
 * Builds a `fetch` whose responses contain only the admitted messages. Streams stay streams. A body is cut off at the size limit; in
 * a stream, only an event that exceeds it is dropped.
 */
export function buildBoundedFetch(bounds: FetchBounds): Fetch {
  return async (url, init) => {
    const response = await outgoingFetch(url, init);
    if (response.body === null || response.status < 200) return response;
    const isPost = init?.method?.toUpperCase() === "POST";
    const { body, headers } = isPost
      ? await named(response, response.body)
      : { body: response.body, headers: response.headers };
    return new Response(body.pipeThrough(buildFilter({ ok: response.ok, headers }, bounds)), {
      status: response.status,
      statusText: response.statusText,
      headers,
    });
  };
}

/** What an answer over HTTP says before its body. */
export interface HttpAnswer {
  readonly status: number;
  /** The media type, in lower case and without parameters; empty if it names none. */
  readonly type: string;
  /** Where a redirect leads (RFC 9110, section 10.2.2), if that is a URL of HTTP. */
  readonly location: URL | undefined;
}

/** Wraps `fetch` so that the head of the last answer can be read. The MCP client passes on only parts of it, as text. */
export function noteAnswers(fetch: Fetch): { fetch: Fetch; lastAnswer: () => HttpAnswer | undefined } {
  let last: HttpAnswer | undefined;
  return {
    async fetch(input, init) {
      last = undefined;
      const response = await fetch(input, init);
      const { status, headers } = response;
      last = { status, type: mediaTypeOf(headers), location: locationIn(headers, input) };
      return response;
    },
    lastAnswer: () => last,
  };
}

function locationIn(headers: Headers, base: string | URL): URL | undefined {
  const text = headers.get("location") ?? "";
  const url = text === "" ? null : URL.parse(text, String(base));
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined;
}

/** Media types that servers give to messages whose type they do not know. */
const UNNAMED: ReadonlySet<string> = new Set([
  "",
  "text/plain",
  "application/octet-stream",
  "text/json",
  "application/json-rpc",
]);

/** What a message may begin with, after a byte order mark and white space. */
const BEGINS_JSON = /^(?:\ufeff)?\s*[[{]/;

/**
 * The body of an answer, and its headers with the type that its content has: some servers send JSON without its Content-Type, and the MCP
 * client would not read it. Only the beginning of the body is read ahead.
 */
async function named(
  { ok, headers: given }: Response,
  body: ReadableStream<Uint8Array>,
): Promise<{ body: ReadableStream<Uint8Array>; headers: Headers }> {
  if (!ok || !UNNAMED.has(mediaTypeOf(given))) return { body, headers: given };
  const reader = body.getReader();
  const first = await reader.read();
  const rest = new ReadableStream<Uint8Array>({
    start(controller) {
      if (first.value !== undefined) controller.enqueue(first.value);
      if (first.done) controller.close();
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const isJson = BEGINS_JSON.test(Buffer.from(first.value ?? []).toString("utf8"));
  const headers = new Headers(given);
  if (isJson) headers.set("content-type", "application/json");
  return { body: rest, headers };
}

/** The media type in `Content-Type`, in lower case and without parameters; empty if there is none. */
function mediaTypeOf(headers: Headers): string {
  return (/^[^;\s]*/.exec(headers.get("content-type") ?? "")?.[0] ?? "").toLowerCase();
}

function buildFilter(
  response: Pick<Response, "ok" | "headers">,
  bounds: FetchBounds,
): TransformStream<Uint8Array, Uint8Array> {
  const type = mediaTypeOf(response.headers);
  if (!response.ok) return buildLimit(bounds);
  if (type === "text/event-stream") return buildEventFilter(bounds);
  return type === "application/json" ? buildBodyFilter(bounds) : buildLimit(bounds);
}

function buildLimit({ maxMessageBytes, onOversize }: FetchBounds) {
  let bytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes <= maxMessageBytes) return controller.enqueue(chunk);
      onOversize(undefined);
      controller.error(tooLarge(maxMessageBytes));
    },
  });
}

function buildBodyFilter({ maxMessageBytes, admit, onOversize }: FetchBounds) {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes <= maxMessageBytes) {
        chunks.push(chunk);
        return;
      }
      onOversize(undefined);
      controller.error(tooLarge(maxMessageBytes));
    },
    flush(controller) {
      const { messages } = admit(Buffer.concat(chunks).toString("utf8"));
      if (messages.length > 0) {
        const body = messages.length === 1 ? messages[0] : messages;
        controller.enqueue(Buffer.from(writeJson(body)));
      } else controller.error(new SyntaxError("its response holds no answer to what it was asked"));
    },
  });
}

function buildEventFilter({ maxMessageBytes, admit, onOversize }: FetchBounds) {
  let unasked = 0;
  const events = new EventStream(maxMessageBytes, {
    rewrite(data) {
      const admission = admit(data);
      unasked += admission.unasked;
      return admission.messages.map((message) => writeJson(message));
    },
    onOversize: (line: OversizeLine) => onOversize(answeredIdOf(line)),
  });
  return new TransformStream<Uint8Array, Uint8Array>({
    async transform(chunk, controller) {
      const began = performance.now();
      unasked = 0;
      let out: string;
      try {
        out = events.push(chunk);
      } catch (error) {
        controller.error(error);
        return;
      }
      if (out !== "") controller.enqueue(Buffer.from(out));
      const pauseMs = pauseAfter(unasked, performance.now() - began);
      if (pauseMs > 0) await delay(pauseMs);
    },
  });
}

function tooLarge(maxBytes: number): Error {
  return new Error(`a message is larger than ${maxBytes} bytes`);
}

/**
 * Rewrites the messages of an event stream (HTML Living Standard, "Server-sent events"; MCP 2025-11-25, "Streamable HTTP") while the
 * bytes arrive, keeping at most one event in memory.
 */

interface EventRewriter {
  /** Returns the data of the events that replace one event. An empty list removes it. */
  rewrite(data: string): readonly string[];
  /** Called with the beginning and end of a message that is too large. */
  onOversize(line: OversizeLine): void;
}

/** The minimum time before an ended stream is reopened, whatever the server asks for. */
const MIN_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

class EventStream {
  readonly #rewriter: EventRewriter;
  readonly #maxBytes: number;
  readonly #splitter: LineSplitter;
  #lastWasReturn = false;
  #isFirstLine = true;
  #data: string[] = [];
  #bytes = 0;
  #isOversize = false;
  #event = "";
  #id: string | undefined;

  constructor(maxMessageBytes: number, rewriter: EventRewriter) {
    this.#rewriter = rewriter;
    this.#maxBytes = maxMessageBytes;
    this.#splitter = new LineSplitter(maxMessageBytes);
  }

  /** Returns the rewritten text. @throws LineSplitterError if a line exceeds all bounds. */
  push(chunk: Uint8Array): string {
    let out = "";
    for (const line of this.#splitter.push(this.#withLineFeeds(chunk))) out += this.#line(line);
    return out;
  }

  /** Turns all three kinds of line ends into line feeds. None of them can occur within JSON. */
  #withLineFeeds(chunk: Uint8Array): Buffer {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.#lastWasReturn && bytes[0] === LINE_FEED) bytes = bytes.subarray(1);
    if (bytes.length > 0) this.#lastWasReturn = bytes.at(-1) === CARRIAGE_RETURN;
    if (!bytes.includes(CARRIAGE_RETURN)) return bytes;
    const out = Buffer.allocUnsafe(bytes.length);
    let length = 0;
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i] ?? 0;
      if (byte === LINE_FEED && bytes[i - 1] === CARRIAGE_RETURN) continue;
      out[length++] = byte === CARRIAGE_RETURN ? LINE_FEED : byte;
    }
    return out.subarray(0, length);
  }

  #line(line: string | OversizeLine): string {
    if (typeof line !== "string") {
      this.#isOversize = true;
      this.#rewriter.onOversize({ ...line, head: line.head.replace(/^data: ?/, "") });
      return "";
    }
    if (line === "") return this.#dispatch();
    const text = this.#isFirstLine ? line.replace(/^\ufeff/, "") : line;
    this.#isFirstLine = false;
    const colon = text.indexOf(":");
    if (colon === 0) return "";
    const field = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1);
    switch (field) {
      case "data":
        this.#keep(value);
        return "";
      case "event":
        this.#event = value.slice(0, 256);
        return "";
      case "id":
        if (value.length <= 4_096 && !value.includes("\0")) this.#id = value;
        return "";
      case "retry":
        if (!/^\d{1,15}$/.test(value)) return "";
        return `retry: ${Math.min(Math.max(Number(value), MIN_RETRY_MS), MAX_RETRY_MS)}\n`;
      default:
        return "";
    }
  }

  #keep(value: string): void {
    this.#bytes += value.length + 1;
    if (this.#isOversize) return;
    if (this.#bytes <= this.#maxBytes) {
      this.#data.push(value);
      return;
    }
    this.#isOversize = true;
    const head = (this.#data[0] ?? value).slice(0, 512);
    this.#data = [];
    this.#rewriter.onOversize({ bytes: this.#bytes, head, tail: value.slice(-512) });
  }

  #dispatch(): string {
    const data = this.#data;
    const event = this.#event;
    const id = this.#id;
    const isOversize = this.#isOversize;
    this.#data = [];
    this.#bytes = 0;
    this.#isOversize = false;
    this.#event = "";
    this.#id = undefined;
    if (data.length === 0 || isOversize) return "";
    const whole = data.join("\n");
    const isMessage = event === "" || event === "message";
    const texts = !isMessage || whole.trim() === "" ? data : this.#rewriter.rewrite(whole);
    const type = isMessage ? "" : `event: ${event}\n`;
    if (!isMessage || whole.trim() === "") return `${type}${frame(texts.join("\ndata: "), id)}`;
    // The id of an event without data is kept, because it marks the position in the stream.
    if (texts.length === 0) return id === undefined ? "" : frame("", id);
    return texts.map((text) => frame(text, id)).join("");
  }
}

function frame(data: string, id: string | undefined): string {
  return `${id === undefined ? "" : `id: ${id}\n`}data: ${data}\n\n`;
}
