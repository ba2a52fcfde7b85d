import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  hasBigInteger,
  isBigIntegerText,
  numbersComeBack,
  parseForeignJson,
  quoteBigIntegers,
  readJson,
  withRawNumbers,
  withTextNumbers,
  writeJson,
} from "../../base/json.ts";

const LIMITS = { maxBytes: 1_000_000, maxDepth: 64 };

const integers = fc.bigInt({ min: -(10n ** 300n), max: 10n ** 300n });
const near = fc.bigInt({ min: -(2n ** 53n) - 5n, max: 2n ** 53n + 5n });
const scalars = fc.oneof(
  integers.map(String),
  near.map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.string({ unit: "binary" }).map((value) => JSON.stringify(value)),
  // Texts that look like what the parser puts in between.
  fc.tuple(fc.constantFrom("\ue36f", "\\ue36f", "1", ""), integers).map(([mark, n]) => `"${mark}${n}"`),
  fc.constantFrom("true", "false", "null"),
);
/** JSON texts without white space. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalars,
    fc.array(tie("json"), { maxLength: 5 }).map((items) => `[${items.join(",")}]`),
    fc
      .uniqueArray(fc.tuple(fc.string(), tie("json")), { selector: ([name]) => name, maxLength: 5 })
      .map((members) => `{${members.map(([name, each]) => `${JSON.stringify(name)}:${each}`).join(",")}}`),
  ),
}));

/** The value of a text with big whole numbers, as the standard's own access to source texts gives it. */
function bySource(text: string): unknown {
  const exact = (_: string, value: unknown, { source = "" }: { source?: string } = {}) =>
    typeof value === "number" && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)
      ? BigInt(source)
      : value;
  return (JSON.parse as (text: string, reviver: unknown) => unknown)(text, exact);
}

describe("a JSON text with whole numbers of any size", () => {
  test("is parsed as its sources say, and is written as the same text", () => {
    fc.assert(
      fc.property(json, (text) => {
        const value = parseForeignJson(text, LIMITS);
        expect(value).toEqual(bySource(text));
        expect(readJson(text)).toEqual(value);
        const written = writeJson(value);
        expect(bySource(written)).toEqual(bySource(text.replaceAll("-0,", "0,")));
        expect(JSON.stringify(withRawNumbers(value))).toBe(written);
        expect(() => JSON.stringify(withTextNumbers(value))).not.toThrow();
      }),
    );
  });

  test("has its big whole numbers as texts after quoting, and stays JSON only if it is", () => {
    const pieces = fc.array(
      fc.oneof(
        fc.constantFrom("{", "}", "[", "]", ",", ":", '"', "\\", " ", "-", ".", "e", "0"),
        fc.bigInt({ min: 0n, max: 10n ** 30n }).map(String),
      ),
      { maxLength: 8 },
    );
    const isJson = (text: string) => {
      try {
        return [JSON.parse(text)].length === 1;
      } catch {
        return false;
      }
    };
    fc.assert(
      fc.property(
        fc.oneof(
          json,
          pieces.map((parts) => parts.join("")),
        ),
        (text) => {
          expect(isJson(quoteBigIntegers(text))).toBe(isJson(text));
          if (isJson(text))
            expect(JSON.parse(quoteBigIntegers(text))).toEqual(withTextNumbers(bySource(text)));
        },
      ),
    );
  });
});

test.each([
  ["9007199254740991", false],
  ["9007199254740992", true],
  ["-9007199254740991", false],
  ["-9007199254740992", true],
  ["1234567890123456789", true],
  ["0", false],
  ["-0", false],
  ["01234567890123456789", false],
  ["+1234567890123456789", false],
  ["1234567890123456789.0", false],
  ["1e30", false],
  [" 1234567890123456789", false],
  ["9".repeat(308), true],
  ["9".repeat(309), false],
])("%s is the text of a whole number beyond 2^53: %s", (text, expected) => {
  expect(isBigIntegerText(text)).toBe(expected);
});

test.each([
  ["[1,2.5,-3,1e+21,12345678901234567890]", true],
  ['{"a":"3.10","b":"\\"1.0"}', true],
  ["[3.10]", false],
  ["-0", false],
  ["[1e2]", false],
  ["1.0", false],
  ["1e400", false],
])("the numbers of %s come back as they are: %s", (text, expected) => {
  expect(numbersComeBack(text)).toBe(expected);
});

test("a value without a BigInt is not copied", () => {
  const value = { a: [1, "x", { b: null }] };
  expect([withRawNumbers(value), withTextNumbers(value)]).toEqual([value, value]);
  expect(withRawNumbers(value)).toBe(value);
  expect([hasBigInteger(value), hasBigInteger({ a: [{ b: 1n }] })]).toEqual([false, true]);
});
