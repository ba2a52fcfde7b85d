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

  it("is matched in linear time", () => {
    const pattern = `${"a*".repeat(400)}b`;
    expect(matchesArguments({ like: { p: "" }, except: { p: pattern } }, { p: "a".repeat(1_000_000) })).toBe(
      false,
    );
  });
});
