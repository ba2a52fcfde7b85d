import { describe, expect, it } from "vitest";
import { jsonLine } from "../../../base/json/json-line.ts";
import { oneLine } from "../../../base/text/one-line.ts";

describe("text as a part of a line", () => {
  it.each([
    ["a\r\n  b\u2028c\u0085\td\v", "a b c d"],
    ["\u001b[2J\u202e\u0000", "\\u{1b}[2J\\u{202e}\\u{0}"],
    ["  plain text  ", "plain text"],
  ])("has no end of line and nothing unseen: %j", (text, line) => {
    expect(oneLine(text)).toBe(line);
  });

  it("is cut between characters", () => {
    expect(oneLine("x".repeat(10), 10)).toBe("x".repeat(10));
    expect(oneLine("x".repeat(11), 10)).toBe("xxxxxxx...");
    expect(oneLine("xxxxxx\u{1f600}yyyy", 10)).toBe("xxxxxx...");
  });
});

describe("a value as JSON on one line", () => {
  it("is the same value, with nothing in it that ends a line or is not seen, but joiners", () => {
    const value = {
      "a\u2028": ["\u0085\u2029\u009b\u007f\u202e\u{e0041}\ud800\n", "\u{1f468}\u200d\u{1f469}"],
    };
    const line = jsonLine(value);
    expect(JSON.parse(line)).toEqual(value);
    expect(line).toMatch(/^(?:\u200d|[^\p{C}\p{Zl}\p{Zp}])+$/u);
    expect(line).toContain("\u{1f468}\u200d\u{1f469}");
    expect(jsonLine(undefined)).toBe("null");
  });
});
