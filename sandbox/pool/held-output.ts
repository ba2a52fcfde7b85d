import type { SandboxOutput } from "../sandbox.ts";

type Stream = "onStdout" | "onStderr";

/** Holds what a container writes, in order and up to a bound, until a run takes it. */
export class HeldOutput implements SandboxOutput {
  /** Settles when the container writes more than may be held. The excess is dropped. */
  readonly overflow: Promise<void>;

  readonly #maxBytes: number;
  #settleOverflow: () => void = () => {};
  #held: { stream: Stream; chunk: Buffer }[] = [];
  #bytes = 0;
  #taker: SandboxOutput | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.overflow = new Promise((resolve) => {
      this.#settleOverflow = resolve;
    });
  }

  onStdout(chunk: Buffer): void {
    this.#take("onStdout", chunk);
  }

  onStderr(chunk: Buffer): void {
    this.#take("onStderr", chunk);
  }

  /** Passes on what is held, and from then on everything at once. */
  flowTo(output: SandboxOutput): void {
    this.#taker = output;
    for (const { stream, chunk } of this.#held) output[stream](chunk);
    this.#held = [];
  }

  #take(stream: Stream, chunk: Buffer): void {
    if (this.#taker !== undefined) {
      this.#taker[stream](chunk);
      return;
    }
    this.#bytes += chunk.length;
    if (this.#bytes <= this.#maxBytes) this.#held.push({ stream, chunk: Buffer.from(chunk) });
    else this.#settleOverflow();
  }
}
