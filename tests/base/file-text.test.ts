import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeFile, decodeWithMark, encodeFile, encodingOf } from "../../base/file-text.ts";

const MARK = "\ufeff";
const ENCODINGS = ["utf-8", "utf-16le", "utf-16be"] as const;

describe("a file that a person writes", () => {
  it("is the text that its editor shows, in every encoding that a mark names, and is written as it was", () => {
    const text = fc.string({ unit: "grapheme" }).filter((each) => !each.startsWith(MARK));
    fc.assert(
      fc.property(text, fc.constantFrom(...ENCODINGS), (content, encoding) => {
        const bytes = encodeFile(MARK + content, encoding);
        expect(encodingOf(bytes)).toBe(encoding);
        expect(decodeFile(bytes)).toBe(content);
        expect(encodeFile(decodeWithMark(bytes), encodingOf(bytes))).toEqual(bytes);
      }),
    );
  });

  it("needs no mark in UTF-8, and keeps marks that are within it", () => {
    expect(decodeFile(Buffer.from(`a${MARK}b`))).toBe(`a${MARK}b`);
    expect(decodeFile(Buffer.from(""))).toBe("");
  });

  it.each([
    ["UTF-8", Buffer.from([0x61, 0xff])],
    ["UTF-16", Buffer.from([0xff, 0xfe, 0x61])],
    ["UTF-16 with half a pair", Buffer.from([0xff, 0xfe, 0x00, 0xd8])],
  ])("is refused where it is no %s", (_, bytes) => {
    expect(() => decodeFile(bytes)).toThrow(TypeError);
  });
});
