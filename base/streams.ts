/** The beginning and the end of a line that is too long to keep. */
export interface OversizeLine {
  bytes: number;
  head: string;
  tail: string;
}

const LINE_FEED = 0x0a;
const EXCERPT_BYTES = 512;

/** Returns the id of the request that an oversize message answers. Servers write it before or after the result. */
export function answeredIdOf({ head, tail }: Pick<OversizeLine, "head" | "tail">): number | undefined {
  const found =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,/.exec(head) ??
    /[}\]]\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(
      tail,
    );
  return found?.[1] === undefined ? undefined : Number(found[1]);
}

export class LineSplitterError extends Error {
  override readonly name = "LineSplitterError";
}

/**
 * Splits a stream of bytes into lines, and holds at most one line of `maxBytes`. It discards a longer line as it arrives, so that
 * a large message is lost but the connection survives. `push` throws for a line longer than `maxDiscardedBytes`.
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

  /** @throws LineSplitterError when a line exceeds `maxDiscardedBytes`. The stream is then unusable. */
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
      // A single chunk can be shorter than an excerpt, so the excerpt comes from all of them together.
      const held = Buffer.concat(this.#chunks);
      this.#head = Buffer.from(held.subarray(0, EXCERPT_BYTES));
      this.#tail = held.subarray(-EXCERPT_BYTES - piece.length, -piece.length);
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

/**
 * Reads the body of a response (Fetch) into memory. Resolves with `undefined` as soon as the body exceeds `maxBytes`, and does not
 * read the rest. Rejects when reading the body fails.
 */
export async function readBoundedBody(
  { body }: Pick<Response, "body">,
  maxBytes: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the body.
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

interface Corkable {
  cork(): void;
  uncork(): void;
}

const gathering = new WeakSet<Corkable>();

/** Makes a stream send everything written to it in this turn of the event loop as one piece. */
export function writeTogether(stream: Corkable): void {
  if (gathering.has(stream)) return;
  gathering.add(stream);
  stream.cork();
  process.nextTick(() => {
    gathering.delete(stream);
    stream.uncork();
  });
}
