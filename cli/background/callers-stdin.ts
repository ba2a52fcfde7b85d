import { PassThrough, type Readable } from "node:stream";
import type { CallersProcess } from "./callers-process.ts";

/**
 * The stdin of a caller as a host reads it: only when the host wants it, so that nothing is taken from whoever reads it
 * next. What was read is kept, until the caller needs no fallback.
 */
export class CallersStdin {
  readonly #caller: CallersProcess;
  #onBytes: (bytes: Buffer | null) => void = () => {};
  #read: Buffer[] = [];
  #isOpen = false;
  #ended = false;

  constructor(caller: CallersProcess) {
    this.#caller = caller;
  }

  /** Begins, or goes on, to read; each piece is handed over, and null at the end. */
  flow(onBytes: (bytes: Buffer | null) => void): void {
    this.#onBytes = onBytes;
    const { stdin } = this.#caller;
    if (!this.#isOpen) {
      this.#isOpen = true;
      stdin.on("data", this.#onData);
      stdin.once("end", this.#onEnd);
      stdin.once("error", this.#onEnd);
    }
    if (this.#ended) onBytes(null);
    else stdin.resume();
  }

  pause(): void {
    if (this.#isOpen) this.#caller.stdin.pause();
  }

  setRawMode(isRaw: boolean): void {
    this.#caller.stdin.setRawMode?.(isRaw);
  }

  /** Gives stdin back, as if nothing had been read; `undefined` when nothing was. */
  rest(): Readable | undefined {
    if (!this.#isOpen) return undefined;
    const { stdin } = this.#caller;
    if (stdin.isTTY === true) {
      stdin.off("data", this.#onData);
      stdin.setRawMode?.(false);
      stdin.pause();
      return undefined;
    }
    const whole = new PassThrough();
    for (const bytes of this.#read) whole.write(bytes);
    stdin.off("data", this.#onData);
    if (this.#ended) whole.end();
    else stdin.pipe(whole);
    return whole;
  }

  readonly #onData = (chunk: Buffer | string) => {
    const bytes = Buffer.from(chunk as Buffer);
    if (this.#caller.stdin.isTTY !== true) this.#read.push(bytes);
    this.#onBytes(bytes);
  };

  readonly #onEnd = () => {
    this.#ended = true;
    this.#onBytes(null);
  };
}
