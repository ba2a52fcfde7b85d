import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { SealingError, seal, unseal } from "../../secrets/sealing.ts";

const KEY = randomBytes(32);
const SEALED = seal(KEY, Buffer.from("what nobody may read"), "run 1");

describe("what is sealed", () => {
  it("opens with its key and its purpose", () => {
    expect(unseal(KEY, SEALED, "run 1").toString()).toBe("what nobody may read");
    expect(SEALED.toString("latin1")).not.toContain("nobody");
  });

  it("is never the same twice", () => {
    expect(seal(KEY, Buffer.from("a"), "p")).not.toEqual(seal(KEY, Buffer.from("a"), "p"));
  });

  it("opens with no other key, for no other purpose, and not cut", () => {
    expect(() => unseal(randomBytes(32), SEALED, "run 1")).toThrow(SealingError);
    expect(() => unseal(KEY, SEALED, "run 2")).toThrow(SealingError);
    expect(() => unseal(KEY, SEALED.subarray(0, -1), "run 1")).toThrow(SealingError);
    expect(() => unseal(KEY, Buffer.alloc(3), "run 1")).toThrow(SealingError);
  });

  it("does not open with any byte changed", () => {
    for (let at = 0; at < SEALED.length; at++) {
      const changed = Buffer.from(SEALED);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => unseal(KEY, changed, "run 1")).toThrow(SealingError);
    }
  });
});
