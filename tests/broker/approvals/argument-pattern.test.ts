import { describe, expect, it } from "vitest";
import { matchesArguments } from "../../../broker/approvals/argument-pattern.ts";

const LIKE = { path: "/tmp/a", mode: "fast", deep: { n: [1] } };

describe("a pattern of arguments", () => {
  it.each<[string, Record<string, string>, unknown, boolean]>([
    ["the call itself, without exceptions", {}, LIKE, true],
    ["the same in another order", {}, { deep: { n: [1] }, mode: "fast", path: "/tmp/a" }, true],
    ["another value of an argument that is no exception", {}, { ...LIKE, mode: "slow" }, false],
    ["another value deep in an argument", {}, { ...LIKE, deep: { n: [2] } }, false],
    ["an exception that matches", { path: "/tmp/*" }, { ...LIKE, path: "/tmp/b/c" }, true],
    ["an exception that does not", { path: "/tmp/*" }, { ...LIKE, path: "/etc/passwd" }, false],
    ["a way out of the folder", { path: "/tmp/*" }, { ...LIKE, path: "/tmp/../etc/passwd" }, false],
    ["a way out at the end", { path: "/tmp/*" }, { ...LIKE, path: "/tmp/.." }, false],
    ["a way out with backslashes", { path: "*" }, { ...LIKE, path: "a\\..\\b" }, false],
    ["two dots that lead nowhere", { path: "/tmp/*" }, { ...LIKE, path: "/tmp/a..b" }, true],
    ["one more argument", { path: "*" }, { ...LIKE, force: true }, false],
    ["one less", { path: "*" }, { mode: "fast", deep: { n: [1] } }, false],
    ["an argument under another name", { path: "*" }, { file: "/tmp/a", mode: "fast", deep: {} }, false],
    ["a number, as JSON", { deep: '{"n":*}' }, { ...LIKE, deep: { n: [7, 8] } }, true],
    ["pieces in their order", { path: "a*b*c" }, { ...LIKE, path: "a-b-c" }, true],
    ["pieces that overlap", { path: "ab*bc" }, { ...LIKE, path: "abc" }, false],
    ["pieces in another order", { path: "a*c*b*" }, { ...LIKE, path: "a-b-c" }, false],
    ["the pattern's own text when it has no wildcard", { path: "x" }, { ...LIKE, path: "xy" }, false],
    ["no object", {}, null, false],
  ])("%s", (_, except, args, matches) => {
    expect(matchesArguments({ like: LIKE, except }, args)).toBe(matches);
  });

  it("is matched in linear time", () => {
    const pattern = `${"a*".repeat(400)}b`;
    expect(matchesArguments({ like: { p: "" }, except: { p: pattern } }, { p: "a".repeat(1_000_000) })).toBe(
      false,
    );
  });
});
