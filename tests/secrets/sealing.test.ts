import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { KeyList, parseSealingKey, SealingError, seal, unseal } from "../../secrets/sealing.ts";

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
    for (let bytes = 0; bytes < SEALED.length; bytes++)
      expect(() => unseal(KEY, SEALED.subarray(0, bytes), "run 1")).toThrow(SealingError);
    const nothing = seal(KEY, Buffer.alloc(0), "run 1");
    expect(unseal(KEY, nothing, "run 1")).toHaveLength(0);
  });

  it("does not open with any byte changed", () => {
    for (let at = 0; at < SEALED.length; at++) {
      const changed = Buffer.from(SEALED);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => unseal(KEY, changed, "run 1")).toThrow(SealingError);
    }
  });
});

describe("what is sealed with one of several keys", () => {
  const [old, current] = [randomBytes(32), randomBytes(32)];
  const before = new KeyList([old]).seal(Buffer.from("a login"), "login 1");
  const keys = new KeyList([current, old]);

  it("opens with each of them, and is known by the first", () => {
    expect(keys.unseal(before, "login 1").toString()).toBe("a login");
    const now = keys.seal(Buffer.from("a login"), "login 1");
    expect([keys.isCurrent(before), keys.isCurrent(now)]).toEqual([false, true]);
    expect(new KeyList([current]).unseal(now, "login 1").toString()).toBe("a login");
  });

  it("opens with no key that is not among them, and for no other purpose", () => {
    expect(() => new KeyList([current]).unseal(before, "login 1")).toThrow(/storage.encryption_key/);
    expect(() => keys.unseal(before, "login 2")).toThrow(SealingError);
    expect(() => keys.unseal(SEALED, "run 1")).toThrow(SealingError);
    expect(() => keys.unseal(Buffer.alloc(0), "run 1")).toThrow(SealingError);
  });
});

describe("the text of a key", () => {
  it("is 32 bytes in base64 or in hexadecimal digits, and nothing else", () => {
    for (const text of [KEY.toString("base64"), KEY.toString("base64url"), `${KEY.toString("hex")}\n`])
      expect(parseSealingKey(text)).toEqual(KEY);
    for (const text of [
      "",
      "short",
      KEY.toString("base64").slice(1),
      `${KEY.toString("hex")}00`,
      "x".repeat(64),
    ])
      expect(parseSealingKey(text)).toBeUndefined();
  });
});
