import { describe, expect, it, test } from "vitest";
import { jsonLine } from "../../base/json.ts";
import { listUpTo, oneLine, visibleLine, visibleLines } from "../../base/visible-text.ts";

test.each([
  ["an escape sequence", "a\u001b[2Jb", "a\\u{1b}[2Jb"],
  ["an eight-bit one", "\u009b31m", "\\u{9b}31m"],
  ["a carriage return", "no\ryes", "no\\u{d}yes"],
  ["a backspace", "a\bb", "a\\u{8}b"],
  ["writing from right to left", "abc\u202ecba", "abc\\u{202e}cba"],
  ["isolates", "\u2066a\u2069", "\\u{2066}a\\u{2069}"],
  ["separators", "a\u2028b\u2029c", "a\\u{2028}b\\u{2029}c"],
  ["a zero-width space", "del\u200bete", "del\\u{200b}ete"],
  ["tags", "a\u{e0061}", "a\\u{e0061}"],
  ["half a character", "a\ud800b", "a\\u{d800}b"],
])("shows %s", (_, text, shown) => {
  expect(visibleLine(text)).toBe(shown);
  expect(visibleLines(text)).toBe(shown);
});

test("leaves what people write alone", () => {
  const text = "Grüße, 你好, مرحبا, 🎉 ∑ 'quoted' \\n";
  expect(visibleLine(text)).toBe(text);
  expect(visibleLines(`${text}\n\t${text}\r\n`)).toBe(`${text}\n\t${text}\n`);
});

test("keeps a line one line, and lines of console text with their emoji", () => {
  expect(visibleLine("a\nb\tc")).toBe("a\\u{a}b\\u{9}c");
  expect(visibleLines("👩‍💻\n")).toBe("👩‍💻\n");
});

describe("text as a part of a line", () => {
  it.each([
    ["a\r\n  b\u2028c\u0085\td\v", "a b c d"],
    ["\u001b[2J\u202e\u0000", "\\u{1b}[2J\\u{202e}\\u{0}"],
    ["  plain text  ", "plain text"],
  ])("has no end of line and nothing unseen: %j", (text, line) => {
    expect(oneLine(text)).toBe(line);
  });

  it("has one space for white space, however long that is", () => {
    expect(oneLine(`a${" \n".repeat(5_000)}b\u0085`)).toBe("a b");
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
