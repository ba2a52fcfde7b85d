import { createCipheriv, createHash } from "node:crypto";

const BLOCK_BYTES = 4_096;
const ZEROS = new Uint8Array(BLOCK_BYTES);
const TWO_POW_26 = 2 ** 26;
const TWO_POW_53 = 2 ** 53;

/** Random bytes that follow from a seed: AES-256 in counter mode. Streams of one seed under different names are independent. */
export class Keystream {
  readonly #seed: Uint8Array;
  readonly #name: string;
  /** Made when the first byte is taken: most programs take none. */
  #cipher: ReturnType<typeof createCipheriv> | undefined;
  readonly #block = new Uint8Array(BLOCK_BYTES);
  readonly #words = new Uint32Array(this.#block.buffer);
  #used = BLOCK_BYTES;

  /** `seed` is at least 16 bytes that nobody can guess. */
  constructor(seed: Uint8Array, name: string) {
    this.#seed = seed;
    this.#name = name;
  }

  /** Overwrites all of `target` with the next bytes. */
  fill(target: Uint8Array): void {
    for (let done = 0; done < target.length; ) {
      if (this.#used === BLOCK_BYTES) this.#refill();
      const count = Math.min(target.length - done, BLOCK_BYTES - this.#used);
      target.set(this.#block.subarray(this.#used, this.#used + count), done);
      done += count;
      this.#used += count;
    }
  }

  /** A number in [0, 1) with 53 random bits. For a stream of which nothing else is taken. */
  fraction(): number {
    if (this.#used === BLOCK_BYTES) this.#refill();
    const at = this.#used / 4;
    this.#used += 8;
    const high = (this.#words[at] as number) >>> 5;
    const low = (this.#words[at + 1] as number) >>> 6;
    return (high * TWO_POW_26 + low) / TWO_POW_53;
  }

  #refill(): void {
    this.#cipher ??= this.#makeCipher();
    this.#block.set(this.#cipher.update(ZEROS));
    this.#used = 0;
  }

  #makeCipher(): ReturnType<typeof createCipheriv> {
    const key = createHash("sha256").update(this.#name).update("\0").update(this.#seed).digest();
    return createCipheriv("aes-256-ctr", key, new Uint8Array(16));
  }
}
