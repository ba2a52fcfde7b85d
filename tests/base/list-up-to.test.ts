import { expect, test } from "vitest";
import { listUpTo } from "../../base/text/list-up-to.ts";

test.each<[readonly string[], number, string]>([
  [[], 10, ""],
  [["a", "b"], 10, "a, b"],
  [["a", "b", "c"], 4, "a, b, and 1 more"],
  [["abc", "d"], 2, "and 2 more"],
])("of %j in %i characters: %s", (items, maxChars, text) => {
  expect(listUpTo(items, maxChars)).toBe(text);
});

test("items can be apart in another way", () => {
  expect(listUpTo(["a", "b", "c"], 3, "; ")).toBe("a; and 2 more");
});
