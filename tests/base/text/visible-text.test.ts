import { expect, test } from "vitest";
import { visibleLine, visibleLines } from "../../../base/text/visible-text.ts";

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
