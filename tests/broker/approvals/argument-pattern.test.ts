import { describe, expect, it } from "vitest";
import { matchesArguments } from "../../../broker/approvals/argument-pattern.ts";
import { rowsBeside } from "../../rows.ts";

const rows = rowsBeside(import.meta.filename);

const LIKE = { path: "/tmp/a", mode: "fast", deep: { n: [1] } };

describe("a pattern of arguments", () => {
  it.each<[string, Record<string, string>, unknown, boolean]>(rows("patterns"))(
    "%s",
    (_, except, args, matches) => {
      expect(matchesArguments({ like: LIKE, except }, args)).toBe(matches);
    },
  );

  it.each<[like: unknown, args: unknown, matches: boolean]>([
    [undefined, undefined, true],
    [undefined, null, true],
    [undefined, {}, false],
    [null, "a", false],
    ["a", "a", true],
    ["a", "b", false],
    ["a", ["a"], false],
    ["a", { 0: "a" }, false],
    [{ 0: "a" }, ["a"], false],
    [["a"], ["a"], true],
    [{}, {}, true],
  ])("of a call with %j matches one with %j: %s", (like, args, matches) => {
    expect(matchesArguments({ like, except: {} }, args)).toBe(matches);
  });

  it("is matched in linear time", () => {
    const pattern = `${"a*".repeat(400)}b`;
    expect(matchesArguments({ like: { p: "" }, except: { p: pattern } }, { p: "a".repeat(1_000_000) })).toBe(
      false,
    );
  });
});
