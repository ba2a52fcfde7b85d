import type { Readable, Writable } from "node:stream";
import { isObject } from "../../../base/json/is-object.ts";

/** Longest message that is read. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

const HEADER_END = Buffer.from("\r\n\r\n");

/** Answers what the server asks of its client; `undefined` is `null`. */
export type AnswerRequest = (method: string, params: unknown) => unknown;

/** A client's side of the Language Server Protocol 3.17 over two streams. Ends with them. */
export class LspConnection {
  readonly #input: Writable;
  readonly #answer: AnswerRequest;
  readonly #pending = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #buffered: Buffer[] = [];
  #bytes = 0;
  #next = 1;
  #ended = false;

  /** @param onBroken is called when the server says something that is not LSP. */
  constructor(output: Readable, input: Writable, answer: AnswerRequest, onBroken: () => void) {
    this.#input = input;
    this.#answer = answer;
    output.on("data", (chunk: Buffer) => {
      this.#buffered.push(chunk);
      this.#bytes += chunk.length;
      if (!this.#read()) onBroken();
    });
    output.on("close", () => this.end());
    output.on("error", () => this.end());
    input.on("error", () => this.end());
  }

  /** Sends a request. @throws when it fails, or the connection ends. */
  request(method: string, params: unknown): Promise<unknown> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      if (this.#ended) return reject(new Error("the type checker's process ended"));
      this.#pending.set(id, { resolve, reject });
      this.#send({ id, method, params });
    });
  }

  notify(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  /** Fails what is under way. */
  end(): void {
    this.#ended = true;
    for (const { reject } of this.#pending.values()) reject(new Error("the type checker's process ended"));
    this.#pending.clear();
  }

  #send(message: object): void {
    if (this.#ended) return;
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.#input.write(Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]));
  }

  /** Reads the whole messages that have come. `false` for what is none. */
  #read(): boolean {
    if (this.#bytes > MAX_MESSAGE_BYTES) return false;
    let all = Buffer.concat(this.#buffered);
    for (;;) {
      const end = all.indexOf(HEADER_END);
      if (end < 0) break;
      const length = Number(/^Content-Length: *(\d{1,9})\s*$/im.exec(all.toString("latin1", 0, end))?.[1]);
      if (!Number.isInteger(length) || length > MAX_MESSAGE_BYTES) return false;
      const start = end + HEADER_END.length;
      if (all.length < start + length) break;
      if (!this.#take(all.toString("utf8", start, start + length))) return false;
      all = all.subarray(start + length);
    }
    this.#buffered = [all];
    this.#bytes = all.length;
    return true;
  }

  #take(text: string): boolean {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      return false;
    }
    if (!isObject(message)) return false;
    const { id, method, params, result, error } = message;
    if (typeof method === "string") {
      if (id !== undefined) this.#send({ id, result: this.#answer(method, params) ?? null });
      return true;
    }
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined;
    if (typeof id !== "number" || pending === undefined) return true;
    this.#pending.delete(id);
    if (error === undefined) pending.resolve(result);
    else pending.reject(new Error("the type checker refused a request"));
    return true;
  }
}
