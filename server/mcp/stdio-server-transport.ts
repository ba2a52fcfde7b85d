import type { Readable, Writable } from "node:stream";
import { ForeignJsonError, jsonLine, parseForeignJson } from "../../base/json.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";

/** Above this many bytes that the client has not read, nothing more is read from it. */
const MAX_UNREAD_BYTES = 8 * 1024 * 1024;

/** How long pending requests may take to be answered after the client has closed its end. */
const LAST_ANSWERS_MS = 250;

/** This request is answered only when the connection ends. */
const ENDLESS_METHOD = "subscriptions/listen";

export interface StdioServerTransportOptions {
  stdin: Readable;
  stdout: Writable;
  maxMessageBytes: number;
  /** Whether a value has the form of a JSON-RPC message of MCP. */
  isMessage: (value: unknown) => boolean;
  /** Called when the client has closed its end and pending requests have little time left. */
  onInputEnd: () => void;
}

/**
 * JSON-RPC messages of MCP over two streams, one message a line (MCP 2025-11-25, Transports: stdio). An invalid line is answered with
 * an error and has no other effect. The transport closes when either stream does.
 *
 * The SDK's own `StdioServerTransport` (`@modelcontextprotocol/server` 2.4) lacks what programs need here:
 *
 * - It closes at the end of stdin and leaves requests unanswered. Here a client may write, close its end, and read on. Requests are
 *   answered for a short time, and programs are cancelled with an answer that says so.
 * - It does not answer a line that it cannot read, and it ends the connection when a line exceeds its buffer. Here either costs only
 *   one request, which is answered by its id. `MessageOutline` finds the id without keeping the line.
 * - It reads JSON with `JSON.parse`. Here duplicate keys, numbers that readers interpret differently, and deep nesting are refused,
 *   because a program's data is archived and replayed as it was read.
 * - It keeps reading from a client that does not read its answers.
 */
export class StdioServerTransport {
  onmessage: ((message: unknown) => void) | undefined;
  onclose: (() => void) | undefined;
  /** Receives an error for each invalid line, and for a broken stream. */
  onerror: ((error: Error) => void) | undefined;
  /** Resolves when reading and writing have ended. */
  readonly closed: Promise<void>;

  readonly #options: StdioServerTransportOptions;
  readonly #lines: MessageLines;
  readonly #unanswered = new Set<unknown>();
  #lineCount = 0;
  #inputEnded = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #settleClosed = () => {};

  constructor(options: StdioServerTransportOptions) {
    this.#options = options;
    this.#lines = new MessageLines(options.maxMessageBytes);
    this.closed = new Promise((resolve) => {
      this.#settleClosed = resolve;
    });
  }

  async start(): Promise<void> {
    const { stdin, stdout } = this.#options;
    stdin.on("data", this.#onData);
    stdin.on("end", this.#onEnd);
    stdin.on("error", this.#onError);
    stdin.on("close", this.#onInputClosed);
    // This listener is never removed, because pending writes may fail after the transport has closed.
    stdout.on("error", this.#onError);
    stdout.on("close", this.#onOutputClosed);
    if (stdin.destroyed || stdin.readableEnded || stdout.destroyed) setImmediate(() => void this.close());
  }

  /** Resolves when the client can take more. Messages after the close are dropped. */
  async send(message: object): Promise<void> {
    if (this.#isClosed) return;
    await this.#write(message);
    if (!("method" in message) && "id" in message) this.#answered(message.id);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const { stdin, stdout } = this.#options;
    stdin.off("data", this.#onData);
    stdin.off("end", this.#onEnd);
    stdin.off("close", this.#onInputClosed);
    stdout.off("close", this.#onOutputClosed);
    stdin.pause();
    this.onclose?.();
    this.#settleClosed();
  }

  readonly #onData = (chunk: Buffer) => {
    for (const line of this.#lines.push(chunk)) this.#receive(line);
  };

  readonly #onEnd = () => {
    for (const line of this.#lines.end()) this.#receive(line);
    this.#inputEnded = true;
    this.#options.onInputEnd();
    this.#timer = setTimeout(() => void this.close(), LAST_ANSWERS_MS);
    this.#closeIfDone();
  };

  readonly #onInputClosed = () => {
    if (!this.#inputEnded) void this.close();
  };

  readonly #onOutputClosed = () => void this.close();

  readonly #onError = (error: Error) => {
    if (this.#isClosed) return;
    // A client that has closed its end may stop reading too, which is no error.
    if (!this.#inputEnded) this.onerror?.(new Error(`the connection to the client broke: ${error.message}`));
    void this.close();
  };

  #receive(line: Line): void {
    if (this.#isClosed) return;
    this.#lineCount++;
    const { maxMessageBytes, isMessage } = this.#options;
    const received = parseClientMessage(line, { maxBytes: maxMessageBytes }, isMessage);
    if (received.kind === "blank") return;
    if (received.kind === "refused") {
      this.#refuse(received.refusal);
      return;
    }
    const { method, id, params } = received.message;
    if (method === "notifications/cancelled" && typeof params === "object" && params !== null) {
      this.#unanswered.delete("requestId" in params ? params.requestId : undefined);
    } else if (method !== undefined && id !== undefined && method !== ENDLESS_METHOD) {
      this.#unanswered.add(id);
    }
    this.onmessage?.(received.message);
  }

  #refuse({ reason, code, id, isAnswer }: Refusal): void {
    this.onerror?.(new Error(`line ${this.#lineCount} from the client was refused: ${reason}`));
    const message = { jsonrpc: "2.0", id, error: { code, message: reason } };
    if (!isAnswer) void this.#write(message);
    // The request that waits for this response must learn that it failed.
    else if (id !== null) this.onmessage?.(message);
  }

  #answered(id: unknown): void {
    this.#unanswered.delete(id);
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (this.#inputEnded && this.#unanswered.size === 0) void this.close();
  }

  #write(message: object): Promise<void> {
    const { stdin, stdout } = this.#options;
    const line = `${jsonLine(message)}\n`;
    return new Promise((resolve) => {
      stdout.write(line, () => resolve());
      if (stdout.writableLength <= MAX_UNREAD_BYTES || stdin.isPaused()) return;
      stdin.pause();
      stdout.once("drain", () => {
        if (!this.#isClosed) stdin.resume();
      });
    });
  }
}

/** JSON-RPC 2.0, section 5.1 */
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

/** The levels of a message around a program's data: the message, its params, and the arguments. */
const DEPTH_AROUND_DATA = 3;
const MAX_DEPTH = MAX_NESTING_DEPTH + DEPTH_AROUND_DATA;

type ClientMessage =
  | { kind: "blank" }
  | { kind: "message"; message: Record<string, unknown> }
  | { kind: "refused"; refusal: Refusal };

interface Refusal {
  /** The problem with the line, in one line. */
  reason: string;
  code: number;
  id: string | number | null;
  /** Whether the message is a response, which must not be answered. */
  isAnswer: boolean;
}

/**
 * Parses one line that a client sent.
 *
 * @param isMessage whether a value has the form of a JSON-RPC message of MCP.
 */
export function parseClientMessage(
  line: Line,
  limits: { maxBytes: number },
  isMessage: (value: unknown) => boolean,
): ClientMessage {
  if (line.kind === "too-large") {
    const reason = `message larger than ${limits.maxBytes} bytes`;
    return refuse(INVALID_REQUEST, reason, line.outline.members());
  }
  const bytes = withoutMark(line.bytes);
  if (isBlank(bytes)) return { kind: "blank" };
  let value: unknown;
  try {
    value = parseForeignJson(bytes, { maxBytes: limits.maxBytes, maxDepth: MAX_DEPTH });
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    if (error.code === "not_utf8" || error.code === "not_json")
      return refuse(PARSE_ERROR, "message is not JSON in UTF-8", {});
    const outline = new MessageOutline();
    outline.push(bytes);
    return refuse(INVALID_REQUEST, `message ${error.message}`, outline.members());
  }
  const members = typeof value === "object" && value !== null ? { ...value } : {};
  if (isMessage(value)) return { kind: "message", message: members };
  return refuse(INVALID_REQUEST, "message is no JSON-RPC 2.0 request, notification or response", members);
}

/** Drops the byte order mark with which some clients begin. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
}

function refuse(code: number, reason: string, members: Record<string, unknown>): ClientMessage {
  const { id } = members;
  const known = typeof id === "string" || typeof id === "number" ? id : null;
  const isAnswer = !("method" in members) && ("result" in members || "error" in members);
  return { kind: "refused", refusal: { reason, code, id: known, isAnswer } };
}

const LINE_FEED = 0x0a;

export type Line =
  | { kind: "line"; bytes: Buffer }
  /** The line was skipped; only its outline was kept. */
  | { kind: "too-large"; outline: MessageOutline };

/** Splits the input of a client into lines. Keeps only the outline of a line longer than `maxBytes`. */
export class MessageLines {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #length = 0;
  #outline: MessageOutline | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes the next chunk and yields the lines that it completes. */
  *push(chunk: Buffer): Generator<Line> {
    let rest = chunk;
    for (let at = rest.indexOf(LINE_FEED); at >= 0; at = rest.indexOf(LINE_FEED)) {
      this.#take(rest.subarray(0, at));
      yield this.#finish();
      rest = rest.subarray(at + 1);
    }
    this.#take(rest);
  }

  /** Yields the last line if it has no line feed. */
  *end(): Generator<Line> {
    if (this.#length > 0) yield this.#finish();
  }

  #take(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#length += bytes.length;
    if (this.#outline === undefined && this.#length > this.#maxBytes) {
      this.#outline = new MessageOutline();
      for (const chunk of this.#chunks) this.#outline.push(chunk);
      this.#chunks = [];
    }
    if (this.#outline === undefined) this.#chunks.push(bytes);
    else this.#outline.push(bytes);
  }

  #finish(): Line {
    const outline = this.#outline;
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#length = 0;
    this.#outline = undefined;
    return outline === undefined ? { kind: "line", bytes } : { kind: "too-large", outline };
  }
}

const MAX_KEPT_BYTES = 64 * 1024;
/** The levels of a message that are kept. Deeper levels become `{}`. */
const MAX_KEPT_DEPTH = 2;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Reads the top level of a message that is too large or too deep to be parsed. Everything below becomes `{}`. */
export class MessageOutline {
  readonly #kept = Buffer.alloc(MAX_KEPT_BYTES);
  #length = 0;
  #depth = 0;
  #inString = false;
  #escaped = false;

  push(chunk: Uint8Array): void {
    // The state is held in local variables for speed, because a message can be large.
    let depth = this.#depth;
    let inString = this.#inString;
    let escaped = this.#escaped;
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === BACKSLASH) escaped = true;
        else if (byte === QUOTE) inString = false;
        if (depth <= 1) this.#keep(byte);
      } else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
        depth++;
        if (depth === 1) this.#keep(byte);
        else if (depth === 2) {
          this.#keep(OPEN_BRACE);
          this.#keep(CLOSE_BRACE);
        }
      } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
        if (depth === 1) this.#keep(byte);
        depth--;
      } else {
        if (byte === QUOTE) inString = true;
        if (depth <= 1) this.#keep(byte);
      }
    }
    this.#depth = depth;
    this.#inString = inString;
    this.#escaped = escaped;
  }

  /** The members of the top level. Empty if it is no object, or is itself too large. */
  members(): Record<string, unknown> {
    if (this.#length > MAX_KEPT_BYTES) return {};
    try {
      const json = this.#kept.subarray(0, this.#length);
      const value = parseForeignJson(json, { maxBytes: MAX_KEPT_BYTES, maxDepth: MAX_KEPT_DEPTH });
      return typeof value === "object" && value !== null ? { ...value } : {};
    } catch {
      return {};
    }
  }

  #keep(byte: number): void {
    if (this.#length < MAX_KEPT_BYTES) this.#kept[this.#length] = byte;
    this.#length++;
  }
}
