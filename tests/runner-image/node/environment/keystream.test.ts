import { createDecipheriv, createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Keystream } from "../../../../runner-image/node/environment/program-randomness.ts";

const SEED = Buffer.alloc(32, 7);
const take = (stream: Keystream, length: number) => {
  const bytes = Buffer.alloc(length, 0xff);
  stream.fill(bytes);
  return bytes;
};

describe("random bytes from a seed", () => {
  it("are the keystream of AES-256 in counter mode", () => {
    const key = createHash("sha256").update("crypto\0").update(SEED).digest();
    const cipher = createDecipheriv("aes-256-ctr", key, Buffer.alloc(16));
    expect(take(new Keystream(SEED, "crypto"), 10_000)).toEqual(cipher.update(Buffer.alloc(10_000)));
  });

  it("do not depend on how many are taken at a time", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 9_000 }), { maxLength: 8 }), (lengths) => {
        const total = lengths.reduce((sum, length) => sum + length, 0);
        const stream = new Keystream(SEED, "crypto");
        const pieces = lengths.map((length) => take(stream, length));
        expect(Buffer.concat(pieces).equals(take(new Keystream(SEED, "crypto"), total))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it("differ by seed and by name", () => {
    const streams = [
      new Keystream(SEED, "crypto"),
      new Keystream(SEED, "Math.random"),
      new Keystream(Buffer.alloc(32, 8), "crypto"),
    ];
    expect(new Set(streams.map((stream) => take(stream, 16).toString("hex"))).size).toBe(3);
  });

  it("make fractions of 53 bits, evenly spread over [0, 1)", () => {
    const first = take(new Keystream(SEED, "Math.random"), 8);
    const bits = (first.readUInt32LE(0) >>> 5) * 2 ** 26 + (first.readUInt32LE(4) >>> 6);
    expect(new Keystream(SEED, "Math.random").fraction()).toBe(bits / 2 ** 53);
    const stream = new Keystream(SEED, "Math.random");
    const buckets = new Array<number>(16).fill(0);
    let finest = 0;
    for (let i = 0; i < 160_000; i++) {
      const fraction = stream.fraction();
      expect(fraction >= 0 && fraction < 1).toBe(true);
      buckets[Math.floor(fraction * 16)] = (buckets[Math.floor(fraction * 16)] ?? 0) + 1;
      if ((fraction * 2 ** 53) % 2 === 1) finest++;
    }
    for (const count of buckets) expect(Math.abs(count - 10_000)).toBeLessThan(500);
    expect(Math.abs(finest - 80_000)).toBeLessThan(1_000);
  });
});
