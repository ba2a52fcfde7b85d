import { createHash } from "node:crypto";

/** Randomness that its name decides (xorshift128): the same experiment is the same each time. */
export class Chance {
  readonly #state: Uint32Array;

  constructor(name: string) {
    const bytes = createHash("sha256").update(name).digest();
    this.#state = Uint32Array.from([0, 4, 8, 12], (at) => bytes.readUInt32LE(at) | (at === 0 ? 1 : 0));
  }

  /** A number from 0 up to 1. */
  fraction(): number {
    const state = this.#state as unknown as [number, number, number, number];
    let t = state[3];
    t ^= t << 11;
    t ^= t >>> 8;
    state[3] = state[2];
    state[2] = state[1];
    state[1] = state[0];
    state[0] = (t ^ state[0] ^ (state[0] >>> 19)) >>> 0;
    return state[0] / 2 ** 32;
  }

  /** A whole number from `from` to `to`. */
  between(from: number, to: number): number {
    return from + Math.floor(this.fraction() * (to - from + 1));
  }

  is(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.between(0, items.length - 1)] as T;
  }

  shuffled<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let at = shuffled.length - 1; at > 0; at--) {
      const other = this.between(0, at);
      [shuffled[at], shuffled[other]] = [shuffled[other] as T, shuffled[at] as T];
    }
    return shuffled;
  }

  list<T>(length: number, make: (index: number) => T): T[] {
    return Array.from({ length }, (_, index) => make(index));
  }
}
