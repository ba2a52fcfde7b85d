import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { renderConfusables } from "../../scripts/confusables.ts";
import { rowsBeside } from "../rows.ts";

const rows = rowsBeside(import.meta.filename);

describe("a line that a person decides by", () => {
  it.each<[string, string, string]>(rows("shown"))("shows %s for what it is", (_, text, shown) => {
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
