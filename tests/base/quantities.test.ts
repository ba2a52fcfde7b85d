import fc from "fast-check";
import { expect, it } from "vitest";
import { formatCount } from "../../base/quantities.ts";

it("formats whole numbers as English does", () => {
  const counts = [0, 7, 999, 1_000, 12_345, 999_999, 1_000_000, Number.MAX_SAFE_INTEGER, -1, -999, -1_000];
  expect(counts.map(formatCount)).toEqual(counts.map((count) => count.toLocaleString("en")));
  fc.assert(
    fc.property(fc.maxSafeInteger(), (count) => {
      expect(formatCount(count)).toBe(count.toLocaleString("en"));
    }),
  );
});
