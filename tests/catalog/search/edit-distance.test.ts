import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { editDistance, letterSet, mayBeWithin } from "../../../catalog/search/similar-names.ts";

describe("the distance of two texts", () => {
  const distances: [a: string, b: string, distance: number][] = [
    ["issue", "issue", 0],
    ["isue", "issue", 1],
    ["isseu", "issue", 1],
    ["kitten", "sitting", 3],
    ["label", "lapel", 1],
    ["lab", "xlb", 2],
    ["read_line", "read_fine", 1],
    ["get_a_b_get", "get_b_a_get", 2],
    ["", "abc", 3],
    ["abcdef", "", 6],
  ];
  for (const [a, b, distance] of distances) {
    it(`of '${a}' and '${b}' is ${distance}`, () => {
      expect(editDistance(a, b, 10)).toBe(distance);
      expect(editDistance(b, a, distance)).toBe(distance);
      if (distance > 0) expect(editDistance(a, b, distance - 1)).toBe(distance);
    });
  }

  const short = fc.string({ unit: fc.constantFrom("a", "b", "c", "z"), maxLength: 8 });

  it("is told exactly up to the limit, and as one more beyond it", () => {
    fc.assert(
      fc.property(short, short, fc.nat({ max: 4 }), (a, b, limit) => {
        const exact = editDistance(a, b, 100);
        expect(editDistance(a, b, limit)).toBe(Math.min(exact, limit + 1));
      }),
    );
  });

  it("is never within a limit that the letters rule out", () => {
    fc.assert(
      fc.property(short, short, fc.nat({ max: 4 }), (a, b, limit) => {
        if (!mayBeWithin(limit, letterSet(a), letterSet(b))) {
          expect(editDistance(a, b, limit)).toBeGreaterThan(limit);
        }
      }),
    );
    expect(mayBeWithin(1, letterSet("abc"), letterSet("xyz"))).toBe(false);
  });
});
