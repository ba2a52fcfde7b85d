import { describe, expect, it } from "vitest";
import { firstDifference } from "../../../execution/replay/first-difference.ts";

describe("the first difference of two values", () => {
  it.each([
    [1, 1],
    [{ a: [1, { b: null }] }, { a: [1, { b: null }] }],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [[], []],
  ])("is none between equal ones (%j, %j)", (expected, got) => {
    expect(firstDifference(expected, got)).toBeUndefined();
  });

  it.each<[unknown, unknown, string, string, string]>([
    [1, 2, "", "1", "2"],
    [{ a: [1, 2, 3] }, { a: [1, 5, 6] }, ".a[1]", "2", "5"],
    [{ "a b": { c: 1 } }, { "a b": { c: "1" } }, '["a b"].c', "1", '"1"'],
    [{ a: 1 }, { a: 1, b: 2 }, ".b", "nothing", "2"],
    [{ b: 1, a: 1 }, {}, ".a", "1", "nothing"],
    [[1], [1, 2], "[1]", "nothing", "2"],
    [[], {}, "", "[]", "{}"],
    [null, {}, "", "null", "{}"],
    [{ toString: 1 }, {}, ".toString", "1", "nothing"],
  ])("of %j and %j is at %s", (expected, got, path, was, is) => {
    expect(firstDifference(expected, got)).toEqual({ path, expected: was, got: is });
  });

  it("shows long values cut", () => {
    expect(firstDifference("x".repeat(1_000), 1)?.expected).toMatch(/^"x{199}\.\.\.$/);
  });
});
