/**
 * Finds any of many literals in one pass that skips most of the text, by the method of Wu and Manber: the last characters of
 * a window determine how far it can move. Thousands of literals cost about as much as ten. The search uses only the low byte of
 * each character, because bytes are read several times faster than text, and then compares candidates with the text.
 */
export class LiteralFinder {
  readonly #literals: readonly string[];
  /** Length of the window at the end of each literal. Ends are used because many literals begin alike. */
  readonly #window: number;
  readonly #mask: number;
  readonly #shift: Uint8Array;
  /** The literals whose window ends in a block, as chains through `#next`. */
  readonly #first: Int32Array;
  readonly #next: Int32Array;

  /** @param literals distinct literals of at least `BLOCK` characters. The longer the shortest one, the faster the search. */
  constructor(literals: readonly string[]) {
    this.#literals = literals;
    this.#window = literals.reduce((least, literal) => Math.min(least, literal.length), MAX_WINDOW);
    const size = 1 << Math.min(18, Math.max(15, Math.ceil(Math.log2(literals.length * 32 + 1))));
    this.#mask = size - 1;
    this.#shift = new Uint8Array(size).fill(this.#window - BLOCK + 1);
    this.#first = new Int32Array(size).fill(-1);
    this.#next = new Int32Array(literals.length).fill(-1);
    for (const [index, literal] of literals.entries()) this.#add(index, literal);
  }

  #add(index: number, literal: string): void {
    const bytes = Buffer.from(literal.slice(-this.#window), "latin1");
    for (let last = BLOCK - 1; last < this.#window; last++) {
      const hash = hashBlock(bytes, last) & this.#mask;
      this.#shift[hash] = Math.min(this.#shift[hash] as number, this.#window - 1 - last);
      if (last < this.#window - 1) continue;
      this.#next[index] = this.#first[hash] as number;
      this.#first[hash] = index;
    }
  }

  /** Reports every occurrence of a literal, including overlapping ones, in the order of their ends. */
  find(text: string, onFound: (start: number, literal: string) => void): void {
    if (this.#literals.length === 0) return;
    const overlap = this.#window - 1;
    for (let from = 0; from + overlap < text.length; from += PIECE - overlap) {
      const length = SCRATCH.write(text.length <= PIECE ? text : text.slice(from, from + PIECE), "latin1");
      this.#scan(length, text, from, onFound);
    }
  }

  #scan(length: number, text: string, from: number, onFound: (start: number, literal: string) => void): void {
    const shift = this.#shift;
    const mask = this.#mask;
    for (let last = this.#window - 1; last < length; ) {
      const hash = hashBlock(SCRATCH, last) & mask;
      const skip = shift[hash] as number;
      if (skip > 0) {
        last += skip;
        continue;
      }
      const end = from + last + 1;
      for (let index = this.#first[hash] as number; index >= 0; index = this.#next[index] as number) {
        const literal = this.#literals[index] as string;
        const start = end - literal.length;
        if (start >= 0 && text.startsWith(literal, start)) onFound(start, literal);
      }
      last++;
    }
  }
}

/** The longest window. A longer one skips further, but requires literals of at least its length. */
const MAX_WINDOW = 8;

/** Characters that are compared together. */
const BLOCK = 3;

/** The number of bytes to search at a time, small enough for a processor's cache. */
const PIECE = 32_768;
const SCRATCH = Buffer.allocUnsafeSlow(PIECE);

function hashBlock(bytes: Uint8Array, last: number): number {
  return ((bytes[last - 2] as number) << 10) ^ ((bytes[last - 1] as number) << 5) ^ (bytes[last] as number);
}

/** Finds where the end of a text could be the beginning of a literal. */
export class LiteralPrefixes {
  readonly #sorted: readonly string[];
  /** The first one and two characters of the literals, which decide about most positions. */
  readonly #starts: ReadonlySet<string>;
  readonly #longest: number;

  constructor(literals: readonly string[]) {
    this.#sorted = [...literals].sort((a, b) => (a < b ? -1 : 1));
    this.#starts = new Set(literals.flatMap((literal) => [literal.slice(0, 1), literal.slice(0, 2)]));
    this.#longest = literals.reduce((most, literal) => Math.max(most, literal.length), 0);
  }

  /** Length of the longest literal. */
  get longest(): number {
    return this.#longest;
  }

  /** The first position from which the rest of the text is a proper prefix of a literal, or the length of the text. */
  unfinishedFrom(text: string): number {
    for (let at = Math.max(0, text.length - this.#longest + 1); at < text.length; at++) {
      if (this.#starts.has(text.slice(at, at + 2)) && this.#begins(text.slice(at))) return at;
    }
    return text.length;
  }

  #begins(beginning: string): boolean {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      // Skips a literal that equals the text.
      if ((this.#sorted[middle] as string) <= beginning) low = middle + 1;
      else high = middle;
    }
    return this.#sorted[low]?.startsWith(beginning) ?? false;
  }
}
