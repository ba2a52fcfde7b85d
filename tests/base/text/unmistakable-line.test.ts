import { describe, expect, it } from "vitest";
import { unmistakableLine } from "../../../base/text/unmistakable-line.ts";

describe("a line that a person decides by", () => {
  it.each([
    ["a Cyrillic letter in a Latin word", "p\u0430ypal.com", "p\\u{430}ypal.com"],
    ["a Greek letter in a Latin word", "g\u03bfogle", "g\\u{3bf}ogle"],
    ["a Greek letter in a Cyrillic word", "д\u03bfм", "д\\u{3bf}м"],
    ["a word all of whose letters look Latin", "\u0430\u0440\u0440.com", "\\u{430}\\u{440}\\u{440}.com"],
    ["a letter for mathematics", "\u{1d41a}dmin", "\\u{1d41a}dmin"],
    ["a wide letter", "\uff41dmin", "\\u{ff41}dmin"],
    ["a digit of another form", "1\uff10", "1\\u{ff10}"],
    ["a letter without ink", "a\u3164b", "a\\u{3164}b"],
    ["a space that is none", "rm\u00a0-rf", "rm\\u{a0}-rf"],
    ["a control and a turn of direction", "a\u001b\u202eb", "a\\u{1b}\\u{202e}b"],
  ])("shows %s for what it is", (_, text, shown) => {
    expect(unmistakableLine(text)).toBe(shown);
  });

  it.each([
    "naïve façade",
    "Отчёт за май.docx and notes",
    "日本語のAPIとカタカナ",
    "Ωμέγα",
    "שלום world",
    "한국어",
  ])("leaves %s as it is", (text) => {
    expect(unmistakableLine(text)).toBe(text);
  });
});
