import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CanonicalJsonError, canonicalJson, digestOf } from "../../protocol/canonical-json.ts";

describe("canonical JSON", () => {
  it("is what RFC 8785 section 3.2 prints for its own example", () => {
    const value = {
      // biome-ignore lint/correctness/noPrecisionLoss: the RFC's own number, which must come out rounded
      numbers: [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it("sorts members by UTF-16 code units, as RFC 8785 section 3.2.3 has them", () => {
    const names = ["\u20ac", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080", "\u00f6"];
    const sorted = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\ud83d\ude00", "\ufb33"];
    const printed = canonicalJson(Object.fromEntries(names.map((name) => [name, 0])));
    expect(Object.keys(JSON.parse(printed) as object).filter((name) => name !== "1")).toEqual(
      sorted.filter((name) => name !== "1"),
    );
    expect(printed.indexOf('"1"')).toBeLessThan(printed.indexOf('"\u0080"'));
  });

  it("does not depend on the order of members, and parses back to the same value", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse());
        expect(canonicalJson(reversed)).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("writes whole numbers beyond 2^53 with all digits, so that their digests differ", () => {
    expect(canonicalJson({ id: 1234567890123456789n })).toBe('{"id":1234567890123456789}');
    expect(digestOf(1234567890123456789n)).not.toBe(digestOf(1234567890123456788n));
  });

  it.each([
    ["NaN", Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY],
    ["a function", () => {}],
    ["undefined", undefined],
    ["undefined in an array", [undefined]],
  ])("refuses %s", (_name, value) => {
    expect(() => canonicalJson(value)).toThrow(CanonicalJsonError);
  });

  it("gives SHA-256 digests over UTF-8", () => {
    const expected = createHash("sha256").update('{"a":"é"}', "utf8").digest("hex");
    expect(digestOf({ a: "é" })).toBe(`sha256:${expected}`);
  });
});
