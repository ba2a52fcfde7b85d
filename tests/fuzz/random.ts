import { createHash } from "node:crypto";

/** Randomness that a seed decides (xorshift128, seeded by SHA-256): equal seeds give equal inputs on every machine. */
export class Random {
  readonly #state: Uint32Array;

  /** @param parts what the sequence depends on, such as a seed and the number of an iteration, or the bytes of an input. */
  constructor(...parts: (string | number | Uint8Array)[]) {
    const hash = createHash("sha256");
    for (const part of parts) hash.update(typeof part === "object" ? part : `${part};`);
    const bytes = hash.digest();
    this.#state = Uint32Array.from([0, 4, 8, 12], (at) => bytes.readUInt32LE(at) | (at === 0 ? 1 : 0));
  }

  /** A whole number from 0 to 2^32 - 1. */
  next(): number {
    const state = this.#state as unknown as [number, number, number, number];
    let t = state[3];
    t ^= t << 11;
    t ^= t >>> 8;
    state[3] = state[2];
    state[2] = state[1];
    state[1] = state[0];
    state[0] = (t ^ state[0] ^ (state[0] >>> 19)) >>> 0;
    return state[0];
  }

  /** A whole number from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor((this.next() / 2 ** 32) * count);
  }

  /** A whole number from `from` to `to`. */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  /** Mostly small, at times as large as `max`. */
  size(max: number): number {
    return Math.floor(2 ** ((this.next() / 2 ** 32) * Math.log2(max + 1))) - 1;
  }

  chance(probability: number): boolean {
    return this.next() / 2 ** 32 < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let i = 0; i < length; i++) bytes[i] = this.next();
    return bytes;
  }

  list<T>(length: number, make: (index: number) => T): T[] {
    return Array.from({ length }, (_, index) => make(index));
  }

  shuffled<T>(items: readonly T[]): T[] {
    const rest = [...items];
    return items.map(() => rest.splice(this.below(rest.length), 1)[0] as T);
  }

  /** Cuts bytes into pieces: some of a byte, some large, some empty. */
  chunks(bytes: Buffer): Buffer[] {
    const pieces: Buffer[] = [];
    const most = this.pick([1, 2, 7, 100, 65_536, bytes.length + 1]);
    for (let at = 0; at < bytes.length; ) {
      // Pieces of a byte are for the beginning: a large input would be a million of them.
      const size = pieces.length > 2_000 ? bytes.length : this.below(most + 1);
      pieces.push(bytes.subarray(at, at + size));
      at += size;
    }
    return pieces;
  }
}
