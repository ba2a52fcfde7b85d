/**
 * A sequence of integers as text: base64 (RFC 4648) of pairs of LEB128 numbers. A pair is the difference from the previous integer
 * (zigzag, the first from 0) and how often that difference repeats. Sequences that change little or evenly are short.
 */

/** Maximum bytes of one pair: two numbers of at most 53 bits and a sign. */
const MAX_PAIR_BYTES = 16;

export class SeriesWriter {
  readonly #maxBytes: number;
  #bytes = new Uint8Array(256);
  #length = 0;
  #last = 0;
  #difference = 0;
  #count = 0;
  #full = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Appends an integer. Does nothing once the series is full, so that the series is a beginning without gaps. */
  push(value: number): void {
    if (this.#full) return;
    const difference = value - this.#last;
    if (difference === this.#difference && this.#count > 0) this.#count++;
    else this.#startPair(difference);
    this.#last = value;
  }

  /** Bytes, before base64, of the pairs that are final. */
  get byteLength(): number {
    return this.#length;
  }

  /** Whether the series omits an integer. */
  get full(): boolean {
    return this.#full;
  }

  toString(): string {
    const pair = this.#count === 0 ? [] : [...encodePair(this.#difference, this.#count)];
    return Buffer.concat([this.#bytes.subarray(0, this.#length), Uint8Array.from(pair)]).toString("base64");
  }

  #startPair(difference: number): void {
    if (this.#length + 2 * MAX_PAIR_BYTES > this.#maxBytes) {
      this.#full = true;
      return;
    }
    if (this.#count > 0) for (const byte of encodePair(this.#difference, this.#count)) this.#append(byte);
    this.#difference = difference;
    this.#count = 1;
  }

  #append(byte: number): void {
    if (this.#length === this.#bytes.length) {
      const larger = new Uint8Array(this.#length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes[this.#length++] = byte;
  }
}

/** Reads a series one integer at a time, without holding all of them. A malformed series ends at the mistake. */
export class SeriesReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #last = 0;
  #difference = 0;
  #count = 0;

  constructor(text: string) {
    this.#bytes = Buffer.from(text, "base64");
  }

  next(): number | undefined {
    if (this.#count === 0) {
      const zigzag = this.#number();
      this.#difference = zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      this.#count = this.#number();
      if (!(this.#count > 0) || Number.isNaN(zigzag)) {
        this.#at = this.#bytes.length;
        this.#count = 0;
        return undefined;
      }
    }
    this.#count--;
    this.#last += this.#difference;
    return this.#last;
  }

  /** Reads one number. Returns NaN at the end or for a malformed number. */
  #number(): number {
    let value = 0;
    for (let place = 1; place <= 2 ** 49; place *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) return Number.NaN;
      value += (byte % 128) * place;
      if (byte < 128) return value;
    }
    return Number.NaN;
  }
}

function* encodePair(difference: number, count: number): Generator<number> {
  yield* encodeNumber(difference < 0 ? -2 * difference - 1 : 2 * difference);
  yield* encodeNumber(count);
}

function* encodeNumber(value: number): Generator<number> {
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) yield 128 + (rest % 128);
  yield rest;
}
