import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutToBytes, markAtEnd, TextCap, TRUNCATION_MARK } from "../../protocol/text-cap.ts";

describe("a text cap", () => {
  it("lets exactly its bytes through", () => {
    const cap = new TextCap(6);
    expect(cap.take("abc")).toBe("abc");
    expect(cap.take("déf".slice(0, 2))).toBe("dé");
    expect(cap.truncated).toBe(false);
  });

  it("marks the cut once, on a line of its own, and then is silent", () => {
    const cap = new TextCap(5);
    expect(cap.take("abcdefgh")).toBe(`abcde\n${TRUNCATION_MARK}\n`);
    expect(cap.take("more")).toBe("");
    expect(cap.truncated).toBe(true);
  });

  it("cuts between characters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(40), (text, max) => {
        const well = Buffer.from(text).toString();
        const cut = cutToBytes(well, max);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(max);
        expect(well.startsWith(cut)).toBe(true);
        expect(Buffer.from(cut).toString()).toBe(cut);
      }),
    );
  });
});

it.each<[text: string, after: "" | "\n", mark: string]>([
  [`a\n${TRUNCATION_MARK}`, "", `\n${TRUNCATION_MARK}`],
  [`a${TRUNCATION_MARK}`, "", TRUNCATION_MARK],
  [`a\n${TRUNCATION_MARK}\n`, "", ""],
  [`a\n${TRUNCATION_MARK}\n`, "\n", `\n${TRUNCATION_MARK}\n`],
  [`${TRUNCATION_MARK}\n`, "\n", `${TRUNCATION_MARK}\n`],
  [TRUNCATION_MARK, "\n", ""],
  [`${TRUNCATION_MARK} b`, "", ""],
])("the mark that ends %j before %j is %j", (text, after, mark) => {
  expect(markAtEnd(text, after)).toBe(mark);
});
