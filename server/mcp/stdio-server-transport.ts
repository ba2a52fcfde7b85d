import type { Readable, Writable } from "node:stream";
import { jsonLine } from "../../base/json/json-line.ts";
import { parseClientMessage, type Refusal } from "./client-message.ts";
import { type Line, MessageLines } from "./message-lines.ts";

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
  /** Is called when the client has closed its end and pending requests have little time left. */
  onInputEnd: () => void;
}

/**
 * JSON-RPC messages of MCP over two streams, one message a line (MCP 2025-11-25, Transports: stdio). A line that is no
 * message is answered with an error and has no other effect. The transport closes when either stream does.
 */
export class StdioServerTransport {
  onmessage: ((message: unknown) => void) | undefined;
  onclose: (() => void) | undefined;
  /** Receives an error for each line that is no message, and for a stream that breaks. */
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
