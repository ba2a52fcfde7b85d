import { MessageOutline } from "./message-outline.ts";

const LINE_FEED = 0x0a;

export type Line =
  | { kind: "line"; bytes: Buffer }
  /** The line was skipped; only its outline was kept. */
  | { kind: "too-large"; outline: MessageOutline };

/** Splits the input of a client into lines. Of a line longer than `maxBytes` only the outline is kept. */
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
