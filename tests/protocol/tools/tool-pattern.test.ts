import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesPattern } from "../../../protocol/tools/tool-pattern.ts";
import { tries } from "../../tries.ts";

describe("a tool pattern", () => {
  it.each([
    ["mcp__a__b", "mcp__a__b", true],
    ["mcp__a__b", "mcp__a__bc", false],
    ["mcp__a__b", "xmcp__a__b", false],
    ["mcp__a__B", "mcp__a__b", false],
    ["*", "", true],
    ["*", "anything", true],
    ["", "", true],
    ["", "a", false],
    ["a*", "a", true],
    ["*a", "ba", true],
    ["*a", "ab", false],
    ["a*a", "a", false],
    ["a*a", "aa", true],
    ["a*b*c", "a1b2c", true],
    ["a*b*c", "acb", false],
    ["*ab*ab*", "xabab", true],
    ["*ab*ab*", "xaba", false],
    ["a**b", "ab", true],
    ["a.c", "abc", false],
    ["mcp__*__delete_*", "mcp__files__delete_file", true],
    ["mcp__*__delete_*", "mcp__files__undelete_file", false],
  ])("%s against %s: %s", (pattern, name, expected) => {
    expect(matchesPattern(pattern, name)).toBe(expected);
  });

  it("says what a regular expression would", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
    fc.assert(
      fc.property(pattern, word, (glob, name) => {
        const expected = new RegExp(`^${glob.replaceAll("*", ".*")}$`).test(name);
        expect(matchesPattern(glob, name)).toBe(expected);
      }),
      { numRuns: tries(500) },
    );
  });

  it("does not backtrack", () => {
    expect(matchesPattern(`${"*a".repeat(250)}*b`, "a".repeat(100_000))).toBe(false);
  });
});
