import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { noteMedia, noteMediaIn } from "../../../execution/output/media-notes.ts";

const PNG = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(34_000)]).toString("base64");
const WAV = Buffer.concat([Buffer.from("RIFF0000WAVE"), Buffer.alloc(300)]).toString("base64");
const OTHER = Buffer.alloc(300, 7).toString("base64");

describe("base64 of images and sound", () => {
  it.each([
    [
      "printed as a value",
      `{ type: 'image', data: '${PNG}' }`,
      "{ type: 'image', data: '[image/png, 34 KB]' }",
    ],
    ["printed as JSON", JSON.stringify({ data: PNG }), '{"data":"[image/png, 34 KB]"}'],
    ["twice", `${PNG}\n${WAV}\n`, "[image/png, 34 KB]\n[audio/wav, 312 B]\n"],
    ["in an address", `<img src="data:image/svg+xml;base64,${OTHER}">`, '<img src="[image/svg+xml, 300 B]">'],
    ["cut in the middle", PNG.slice(0, 1_000), "[image/png, 750 B]"],
  ])("%s is a note", (_, text, noted) => {
    expect(noteMedia(text)).toBe(noted);
  });

  it.each([
    ["base64 of something else", OTHER],
    ["a path", `/9j/${"a/b".repeat(3)}`],
    ["a hash", "iVBORw0KGgo"],
  ])("is told from %s", (_, text) => {
    expect(noteMedia(text)).toBe(text);
  });

  it.each<[string, string]>([
    ["iVBORw0KGgo".padEnd(64, "A"), "[image/png, 48 B]"],
    ["iVBORw0KGgo".padEnd(63, "A"), "iVBORw0KGgo".padEnd(63, "A")],
    ["/9j/".padEnd(1_332, "A"), "[image/jpeg, 999 B]"],
    ["/9j/".padEnd(1_334, "A"), "[image/jpeg, 1 KB]"],
    ["/9j/".padEnd(2_000, "A"), "[image/jpeg, 2 KB]"],
    ["R0lGOD".padEnd(80, "A"), "[image/gif, 60 B]"],
    ["UklGR".padEnd(80, "A"), "[image/webp, 60 B]"],
    ["SUkqA".padEnd(80, "A"), "[image/tiff, 60 B]"],
    ["TU0AK".padEnd(80, "A"), "[image/tiff, 60 B]"],
    ["T2dnUw".padEnd(80, "A"), "[audio/ogg, 60 B]"],
    ["ZkxhQw".padEnd(80, "A"), "[audio/flac, 60 B]"],
    ["SUQz".padEnd(80, "A"), "[audio/mpeg, 60 B]"],
    [`${"SUQz".padEnd(80, "A")}==.`, "[audio/mpeg, 60 B]."],
    [`${"SUQz".padEnd(80, "A")}===.`, "[audio/mpeg, 60 B]=."],
    [`${"SUQz".padEnd(80, "A")}-SUQz`, "[audio/mpeg, 60 B]-SUQz"],
    [`x${"SUQz".padEnd(80, "A")}`, `x${"SUQz".padEnd(80, "A")}`],
    [`+${"SUQz".padEnd(80, "A")}`, `+${"SUQz".padEnd(80, "A")}`],
    [`data:image/png;base64,A${" ".repeat(64)}`, `[image/png, 0 B]${" ".repeat(64)}`],
    [`data:image/png;base64,${" ".repeat(64)}`, `data:image/png;base64,${" ".repeat(64)}`],
    [`data:image/png;base64,${"A_-".repeat(20)} SUQz`, "[image/png, 45 B] SUQz"],
    [`data:video/mp4;codecs=avc1;a=b;base64,${"A".repeat(60)}`, "[video/mp4, 45 B]"],
    [`data:text/plain;base64,${"A".repeat(60)}`, `data:text/plain;base64,${"A".repeat(60)}`],
    [`data:image/gif;base64,${"iVBORw0KGgo".padEnd(80, "A")}`, "[image/gif, 60 B]"],
  ])("is told to the byte and the character: %j, %j", (text, noted) => {
    expect(noteMedia(text)).toBe(noted);
  });

  it.each<[unknown, unknown]>([
    [
      { mimeType: "image/png", data: "QUJD", blob: "QQ==", text: "QUJD" },
      { mimeType: "image/png", data: "[image/png, 3 B]", blob: "[image/png, 1 B]", text: "QUJD" },
    ],
    [
      { mimeType: "video/mp4", data: "QQ===" },
      { mimeType: "video/mp4", data: "QQ===" },
    ],
    [
      { mimeType: "image/png", data: "" },
      { mimeType: "image/png", data: "" },
    ],
    [
      { mimeType: "image/png", data: "not base64" },
      { mimeType: "image/png", data: "not base64" },
    ],
    [
      { mimeType: "image/png", data: { data: "QUJD" } },
      { mimeType: "image/png", data: { data: "QUJD" } },
    ],
    [
      { mimeType: "an image/png", data: "QUJD" },
      { mimeType: "an image/png", data: "QUJD" },
    ],
    [
      { mimeType: "image/png; a=b", data: "QUJD" },
      { mimeType: "image/png; a=b", data: "QUJD" },
    ],
    [
      { mimeType: 5, data: "QUJD" },
      { mimeType: 5, data: "QUJD" },
    ],
    [null, null],
    [5, 5],
  ])("in a value is a note only where its type and its form say so: %j", (value, noted) => {
    expect(noteMediaIn(value)).toEqual(noted);
  });

  it("is told from a word however long it is", () => {
    const word = "z".repeat(16_000_000);
    expect(noteMedia(word) === word).toBe(true);
  });

  // V8 stops to optimize regular expressions in a process that has compiled many of them.
  it("is found and told from words by a process that has stopped to optimize regular expressions", () => {
    const program = `
      const { noteMedia } = await import(${JSON.stringify(join(import.meta.dirname, "../../../execution/output/media-notes.ts"))});
      const word = "z".repeat(16_000_000);
      const file = "iVBORw0KGgo".padEnd(8_000_000, "A");
      console.log(noteMedia(word) === word, noteMedia(file), noteMedia("data:image/gif;base64," + file));`;
    const flags = ["--no-regexp-optimization", "--input-type=module", "--eval", program];
    const printed = execFileSync(process.execPath, flags, { encoding: "utf8" });
    expect(printed).toBe("true [image/png, 6000 KB] [image/gif, 6000 KB]\n");
  });

  it("in a value is a note where a content block or a text has it, and nothing else is touched", () => {
    const value = JSON.parse(
      `{"content":[{"type":"image","data":"${OTHER}","mimeType":"image/avif"},{"type":"audio","data":"${WAV}","mimeType":"audio/wav"}],
        "resource":{"blob":"${OTHER}","mimeType":"application/pdf"},"text":["${PNG}",1,null],"__proto__":{"data":"x"}}`,
    );
    expect(JSON.stringify(noteMediaIn(value))).toBe(
      `{"content":[{"type":"image","data":"[image/avif, 300 B]","mimeType":"image/avif"},{"type":"audio","data":"[audio/wav, 312 B]","mimeType":"audio/wav"}],"resource":{"blob":"${OTHER}","mimeType":"application/pdf"},"text":["[image/png, 34 KB]",1,null],"__proto__":{"data":"x"}}`,
    );
  });
});
