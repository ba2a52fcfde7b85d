import { describe, expect, it } from "vitest";
import { tokenize } from "../../../../catalog/search/words.ts";

function parts(text: string): string[] {
  return tokenize(text).flatMap((word) => word.parts.map((token) => token.text));
}

const splits: [text: string, want: string[]][] = [
  ["createIssue", ["create", "issue"]],
  ["create_issue", ["create", "issue"]],
  ["hubspot-batch-create-objects", ["hubspot", "batch", "create", "objects"]],
  ["mcp__google_drive__listFiles", ["mcp", "google", "drive", "list", "files"]],
  ["HTTPServer", ["http", "server"]],
  ["parseXML", ["parse", "xml"]],
  ["exportPDFsNow", ["export", "pdfs", "now"]],
  ["URLs", ["urls"]],
  ["getUserV2", ["get", "user", "v", "2"]],
  ["base64Encode", ["base", "64", "encode"]],
  ["don't stop: it's 5 o'clock!", ["don", "t", "stop", "it", "s", "5", "o", "clock"]],
  ["Café RÉSUMÉ naïve", ["cafe", "resume", "naive"]],
  ["ｆｕｌｌｗｉｄｔｈ", ["fullwidth"]],
  ["Погода в Москве", ["погода", "в", "москве"]],
  ["天気予報を見る", ["天気", "気予", "予報", "報を", "を見", "見る"]],
  ["搜索GitHub仓库", ["搜索", "git", "hub", "仓库"]],
  ["날씨 예보", ["날씨", "예보"]],
  ["图", ["图"]],
  ["😀 --- __ ''", []],
  ["", []],
];

describe("a text's words", () => {
  for (const [text, want] of splits) {
    it(`of ${JSON.stringify(text)} are ${want.join(" ") || "none"}`, () => {
      expect(parts(text)).toEqual(want);
    });
  }

  const wholes: [text: string, want: string | undefined][] = [
    ["GitHub", "github"],
    ["e-mail", "email"],
    ["s3", "s3"],
    ["weather", undefined],
    ["get-the-user-by-name", undefined],
    ["天気予報", undefined],
  ];
  for (const [text, want] of wholes) {
    it(`${want === undefined ? "have no whole" : `are also the whole '${want}'`} when written ${text}`, () => {
      expect(tokenize(text)[0]?.whole?.text).toBe(want);
    });
  }

  it("have one stem in all forms of an English word", () => {
    const stems = tokenize("forecast forecasts forecasting forecasted").map(
      ({ parts: [token] }) => token?.stem,
    );
    expect(new Set(stems).size).toBe(1);
  });

  it("that are as long as data are cut", () => {
    expect(parts("a".repeat(100_000))[0]?.length).toBeLessThan(100);
  });
});
