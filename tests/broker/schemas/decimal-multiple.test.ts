import fc from "fast-check";
import { expect, it } from "vitest";
import { isDecimalMultiple } from "../../../broker/schemas/decimal-multiple.ts";

it.each([
  [19.99, 0.01, true],
  [143.48, 0.01, true],
  [0.3, 0.1, true],
  [-0.3, 0.1, true],
  [-0, 0.1, true],
  [0, 3, true],
  [1.005, 0.01, false],
  [0.015, 0.01, false],
  [1.0000000001, 0.01, false],
  [1e-7, 1e-7, true],
  [3e-7, 1e-7, true],
  [1.5e-7, 1e-7, false],
  [1e-8, 1e-7, false],
  [1, 1e-7, true],
  [1e300, 0.01, true],
  [1.7976931348623157e308, 5e-324, true],
  [5e-324, 0.01, false],
  [123456789012345.67, 0.01, true],
  [9007199254740991, 0.1, true],
  [12, 4, true],
  [13, 4, false],
  [7.5, 2.5, true],
  [7.5, 2, false],
  [1e21, 1e20, true],
  [1e20, 1e21, false],
])("says of %d and %d whether one is a multiple of the other: %s", (value, divisor, isMultiple) => {
  expect(isDecimalMultiple(value, divisor)).toBe(isMultiple);
});

it("finds each count of a decimal step a multiple, and nothing between two counts", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }),
      fc.integer({ min: 2, max: 999 }),
      fc.integer({ min: 0, max: 12 }),
      (count, step, places) => {
        const divisor = Number(`${step}e-${places}`);
        // Fewer than 16 digits, which a number holds exactly as written.
        expect(isDecimalMultiple(Number(`${count * step}e-${places}`), divisor)).toBe(true);
        expect(isDecimalMultiple(Number(`${count * step + 1}e-${places}`), divisor)).toBe(false);
      },
    ),
  );
});
