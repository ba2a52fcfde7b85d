import { expect, test } from "vitest";
import { boundJson, boundValue, jsonBytes } from "../../../execution/output/whole-output.ts";

const TEXT = "x".repeat(1_000);

test.each([
  ["a text, of which the text itself is shown", JSON.stringify(TEXT), 1],
  ["another value, of which the JSON is shown", JSON.stringify([TEXT]), 0],
])("JSON of %s has its two ends, within the bound", (_, json, quotes) => {
  const { ends, shownChars } = boundJson(json, 200);
  expect(jsonBytes(ends)).toBeLessThanOrEqual(200);
  expect(jsonBytes(ends)).toBeGreaterThan(150);
  expect(ends).toMatchObject({ truncated: true, bytes: json.length });
  expect(json.startsWith(ends.head, quotes)).toBe(true);
  expect(json.endsWith(ends.tail, json.length - quotes)).toBe(true);
  expect(shownChars).toBe(ends.head.length + quotes);
});

test("what is bounded to less than its ends take has none", () => {
  expect(boundJson(JSON.stringify(TEXT), 5)).toEqual({
    ends: { truncated: true, bytes: 1_002, head: "", tail: "" },
    shownChars: 1,
  });
  expect(boundValue(TEXT, 5)).toMatchObject({ truncated: true, bytes: 1_002, head: "", tail: "" });
});
