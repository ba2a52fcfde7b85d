/** A line too long to keep: what it began and ended with. */
export interface OversizeLine {
  bytes: number;
  head: string;
  tail: string;
}

const LINE_FEED = 0x0a;
const EXCERPT_BYTES = 512;

export class LineSplitterError extends Error {
  override readonly name = "LineSplitterError";
}

/**
 * Splits a stream of bytes into lines, holding at most one of `maxBytes`. A longer one is discarded as it comes, so that
 * one large message costs that message and not the connection; a line that never ends does cost it.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #maxDiscardedBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #head: Buffer | undefined;
  #tail = Buffer.alloc(0);

  constructor(maxBytes: number, maxDiscardedBytes = maxBytes * 4) {
    this.#maxBytes = maxBytes;
    this.#maxDiscardedBytes = maxDiscardedBytes;
  }

  /** @throws LineSplitterError when a line goes on beyond all bounds. The stream is then lost. */
  push(chunk: Buffer): (string | OversizeLine)[] {
    const lines: (string | OversizeLine)[] = [];
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start);
      if (end < 0) break;
      this.#append(chunk.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
    return lines;
  }

  #append(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#bytes += piece.length;
    if (this.#head === undefined) {
      this.#chunks.push(piece);
      if (this.#bytes <= this.#maxBytes) return;
      // The first piece of a line can be short, but the whole of what is held is longer than any excerpt.
      this.#head = Buffer.concat(this.#chunks).subarray(0, EXCERPT_BYTES);
      this.#chunks = [];
    }
    if (this.#bytes > this.#maxDiscardedBytes) {
      throw new LineSplitterError(`a line is longer than ${this.#maxDiscardedBytes} bytes`);
    }
    this.#tail = Buffer.from(
      Buffer.concat([this.#tail, piece.subarray(-EXCERPT_BYTES)]).subarray(-EXCERPT_BYTES),
    );
  }

  #take(): string | OversizeLine {
    const head = this.#head;
    const line =
      head === undefined
        ? Buffer.concat(this.#chunks).toString("utf8")
        : { bytes: this.#bytes, head: head.toString("utf8"), tail: this.#tail.toString("utf8") };
    this.#chunks = [];
    this.#bytes = 0;
    this.#head = undefined;
    this.#tail = Buffer.alloc(0);
    return line;
  }
}
