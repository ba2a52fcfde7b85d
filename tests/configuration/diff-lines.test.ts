import { expect, test } from "vitest";
import { diffLines } from "../../configuration/diff-lines.ts";

const lines = (text: string) => text.split(" ");

test.each([
  ["nothing for equal texts", "a b c", "a b c", []],
  ["a removed line before the one that takes its place", "a b c", "a x c", ["  a", "- b", "+ x", "  c"]],
  [
    "two lines around a difference, and a mark for what is left out",
    "a b c d e f g h i j",
    "a b X d e f g h i Y",
    ["  a", "  b", "- c", "+ X", "  d", "  e", "  ...", "  h", "  i", "- j", "+ Y"],
  ],
  ["no mark for lines that are left out at the end", "a b c d e", "X b c d e", ["- a", "+ X", "  b", "  c"]],
  ["the shortest difference", "a b c d", "b c d e", ["- a", "  b", "  c", "  d", "+ e"]],
])("A difference of lines shows %s.", (_name, before, after, shown) => {
  expect(diffLines(lines(before), lines(after))).toEqual(shown);
});

test("Two long texts without a common line are one removal and one addition.", () => {
  const before = Array.from({ length: 3_000 }, (_, i) => `a${i}`);
  const after = Array.from({ length: 3_000 }, (_, i) => `b${i}`);
  const shown = diffLines(before, after);
  expect(shown).toHaveLength(6_000);
  expect(shown[2_999]).toBe("- a2999");
  expect(shown[3_000]).toBe("+ b0");
});
