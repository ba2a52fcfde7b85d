import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { renderConfusables } from "../../scripts/confusables.ts";

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
    ["a slash of mathematics in a path", "/tmp/a\u2215b", "/tmp/a\\u{2215}b"],
    ["a slash of fractions, and one of its own", "a\u2044b\u29f8c", "a\\u{2044}b\\u{29f8}c"],
    ["a colon that is a letter", "http\ua789//x.org", "http\\u{a789}//x.org"],
    ["a leader for a dot", "bank.com\u2024evil.org", "bank.com\\u{2024}evil.org"],
    ["a Lisu letter among ASCII", "\ua4d0ank", "\\u{a4d0}ank"],
    ["a Lisu word all of whose letters look Latin", "\ua4d0\ua4f3", "\\u{a4d0}\\u{a4f3}"],
    ["a Cherokee word all of whose letters look Latin", "\u13aa\u13a2 is", "\\u{13aa}\\u{13a2} is"],
    ["Cherokee in a name", "\u13aadmin", "\\u{13aa}dmin"],
    ["small capitals", "p\u1d00\u028fp\u1d00\u029f", "p\\u{1d00}\\u{28f}p\\u{1d00}\\u{29f}"],
    ["a small s that is a capital", "/u\ua731r/bin", "/u\\u{a731}r/bin"],
    ["a digit of another script for a letter", "g\u0966\u0966gle", "g\\u{966}\\u{966}gle"],
    ["a Deseret letter among ASCII", "\u{10404}pen", "\\u{10404}pen"],
    ["a dash that begins an option", "rm \u2013rf", "rm \\u{2013}rf"],
    ["a quote in a path", "/tmp/a\u2019b", "/tmp/a\\u{2019}b"],
    ["one Cyrillic letter in a path of its own", "/tmp/\u0430/b", "/tmp/\\u{430}/b"],
    ["a minus that is no hyphen", "--a\u2212b", "--a\\u{2212}b"],
    ["the only letter of its script", "to \u0441", "to \\u{441}"],
    ["Katakana for a slash", "tmp\u30cex", "tmp\\u{30ce}x"],
    ["a value beside a word of the same script", '"\u0430dmin": "Иван"', '"\\u{430}dmin": "Иван"'],
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
    "Он сказал: «рас, два», и у нас осталось 5 мин.",
    "σοφία και ἀρετή, 3 ώρες",
    "ノートと一枚の紙を、口へ。",
    "Tシャツを３枚、".replaceAll("３", "3"),
    "我有一个工口，二十人",
    "العربية لغة 12",
    "हिन्दी १०",
    "Kadıköy’de ışık",
    "Það er þörf, œuvre, straße, Đà Nẵng, ngơ",
    "It’s “quoted” – twice — and so on…",
    "Rio–Paris 2010–2020",
    "café №5 €10 → ok ✓ 20 °C 3 × 4",
    "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
  ])("leaves %s as it is", (text) => {
    expect(unmistakableLine(text)).toBe(text);
  });
});

it("what passes for ASCII is what the installed data of Unicode says", () => {
  const file = join(import.meta.dirname, "../../base/confusables.ts");
  expect(readFileSync(file, "utf8")).toBe(renderConfusables());
});
