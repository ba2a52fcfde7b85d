import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import type { LanguageName } from "../../../languages/languages.ts";
import { inputDigest } from "../../../languages/program.ts";
import { readProgram, readProgramFiles } from "../../../project/arguments/program-file.ts";
import { readTextFile } from "../../../project/text-file.ts";
import { MAX_PROGRAM_FILES, MAX_PROGRAM_FILES_BYTES, programFile } from "../../../protocol/program-files.ts";

const folder = mkdtempSync(join(tmpdir(), "ptc-program-"));
afterAll(() => rmSync(folder, { recursive: true }));
const BOTH: readonly LanguageName[] = ["typescript", "python"];

/** The language of a program in a file, or on stdin for `-`; else the message that refuses it. */
async function languageOf(
  file: string,
  code: string,
  language?: string,
  languages = BOTH,
): Promise<string | undefined> {
  if (file !== "-") writeFileSync(join(folder, file), code);
  const surroundings = { cwd: () => folder, stdin: Readable.from([Buffer.from(code)]) };
  try {
    const program = await readProgram(file, { language }, surroundings as never, languages);
    return program.language;
  } catch (error) {
    return (error as Error).message;
  }
}

const MARKED: [string, (text: string) => Buffer][] = [
  ["UTF-8 with a byte order mark", (text) => Buffer.from(`\ufeff${text}`, "utf8")],
  ["UTF-16 as PowerShell writes it", (text) => Buffer.from(`\ufeff${text}`, "utf16le")],
  ["UTF-16, the other way", (text) => Buffer.from(`\ufeff${text}`, "utf16le").swap16()],
];

it.each(MARKED)("a program, its data and stdin may be in %s", async (_, encode) => {
  writeFileSync(join(folder, "marked.py"), encode("print(1)\n"));
  writeFileSync(join(folder, "marked.json"), encode('{"a": "ä"}\n'));
  const from = (stdin: Buffer) => ({ cwd: () => folder, stdin: Readable.from([stdin]) }) as never;
  const read = await readProgram("marked.py", { data: "@marked.json" }, from(encode("")), BOTH);
  expect(read).toMatchObject({ code: "print(1)\n", data: { a: "ä" }, language: "python" });
  const piped = await readProgram("-", {}, from(encode("#!/usr/bin/env python3\n1")), BOTH);
  expect(piped).toMatchObject({ code: "#!/usr/bin/env python3\n1", language: "python" });
});

it("a file that begins as UTF-16 and is none is refused in a line", async () => {
  writeFileSync(join(folder, "half.py"), Buffer.from([0xff, 0xfe, 0x61]));
  await expect(readTextFile("half.py", folder, 100)).rejects.toThrow(
    "half.py: begins as UTF-16, and is none; save it as UTF-8",
  );
});

describe("the language of a program", () => {
  it.each<[file: string, code: string, said: string | undefined, language: string | undefined]>([
    ["a.py", "1", undefined, "python"],
    ["a.PY", "#!/usr/bin/env node\n1", undefined, "python"],
    ["a.mts", "1", undefined, "typescript"],
    ["a.py", "1", "javascript", "javascript"],
    ["a.txt", "1", "py", "python"],
    ["a.txt", "1", "Python3", "python"],
    ["-", "1", "ts", "typescript"],
    ["-", "1", undefined, undefined],
    ["-", "#!/usr/bin/env python3\n1", undefined, "python"],
    ["tool", "#!/usr/bin/python3.11 -u\n1", undefined, "python"],
    ["tool", "#! /usr/bin/env -S python3 -u\n1", undefined, "python"],
    ["tool", "#!/usr/bin/env node\n1", undefined, "javascript"],
  ])(
    "of %s that begins with %j is what --language says (%s), else its suffix, else its first line",
    async (...given) => {
      const [file, code, said, language] = given;
      expect(await languageOf(file, code, said)).toBe(language);
    },
  );

  it("is refused in a line that says what to do", async () => {
    const off = "Python is off; add `languages: [typescript, python]` to ptc.yaml";
    expect(await languageOf("a.py", "1", undefined, ["typescript"])).toBe(`a.py: ${off}`);
    expect(await languageOf("tool", "#!/usr/bin/python3\n", undefined, ["typescript"])).toBe(`tool: ${off}`);
    expect(await languageOf("-", "1", "python", ["typescript"])).toBe(`stdin: ${off}`);
    expect(await languageOf("a.ts", "1", undefined, ["python"])).toBe(
      "a.ts: TypeScript is off; add `languages: [python, typescript]` to ptc.yaml",
    );
    expect(await languageOf("a.py", "1", "perl")).toBe(
      "--language: there is no language 'perl'; programs are in typescript, javascript, python",
    );
    expect(await languageOf("a.txt", "1", undefined, ["python"])).toBe(
      "a.txt: not a program; give a .py file, say --language, or give - for stdin",
    );
    expect(await languageOf("a.txt", "1")).toContain("give a .ts, .mts, .js, .mjs or .py file");
  });
});

const handed = mkdtempSync(join(tmpdir(), "ptc-files-"));
afterAll(() => rmSync(handed, { recursive: true }));
mkdirSync(join(handed, "sub"));
writeFileSync(join(handed, "data.csv"), "a,b\n");
writeFileSync(join(handed, "sub", "data.csv"), Buffer.from([0, 255, 1]));
writeFileSync(join(handed, "a=b.csv"), "equals");
writeFileSync(join(handed, "large"), "");
truncateSync(join(handed, "large"), MAX_PROGRAM_FILES_BYTES - 3);

const read = (...words: string[]) => readProgramFiles(words, { cwd: () => handed });

describe("the files that a program is handed", () => {
  it("have their own names, or those that are said, and no path", async () => {
    const files = await read(
      "data.csv",
      "other.csv=sub/data.csv",
      "./a=b.csv",
      `small=${join(handed, "sub", "..", "data.csv")}`,
    );
    expect(files.map(({ name }) => name)).toEqual(["data.csv", "other.csv", "a=b.csv", "small"]);
    expect(files[1]).toEqual({
      name: "other.csv",
      bytes: 3,
      digest: "sha256:47ffa3ea45a70b8a41c2c0825df323c00a8b7a01c1ea06083cc41dddcc001123",
      base64: "AP8B",
    });
    expect(JSON.stringify(files)).not.toContain(handed);
  });

  it.each([
    [["nowhere.csv"], "--file: nowhere.csv: there is no such file"],
    [["sub"], "--file: sub: is a folder"],
    [["data.csv", "sub/data.csv"], "--file: two files are named 'data.csv'; give one as NAME=PATH"],
    [["..=data.csv"], "--file: '..' is not a file name; give NAME=PATH"],
    [["/"], "--file: '' is not a file name; give NAME=PATH"],
    [[`${"x".repeat(129)}=data.csv`], "is longer than 128 bytes; give NAME=PATH"],
    [["a\u202eb=data.csv"], "has invisible characters; give NAME=PATH"],
    [["a\nb=data.csv"], "has invisible characters; give NAME=PATH"],
    [["large", "data.csv"], "--file: data.csv: all files of a program have at most 33554432 bytes together"],
    [
      Array.from({ length: MAX_PROGRAM_FILES + 1 }, (_, i) => `${i}=data.csv`),
      "--file: a program takes at most 32 files, and here are 33",
    ],
  ])("are refused in one line: %j", async (words, message) => {
    const error = await read(...words).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error?.message).toContain(message);
    expect(error?.message).not.toContain("\n");
    expect(error?.constructor.name).toBe("Refusal");
  });

  it("change the input digest with their names and bytes, and a program without any has the digest of before", () => {
    const program = { code: "1", data: {}, language: "typescript", fileName: "a.ts" };
    const of = (...files: [string, string][]) =>
      inputDigest({ ...program, files: files.map(([name, text]) => programFile(name, Buffer.from(text))) });
    expect(of()).toBe(inputDigest(program));
    expect(inputDigest(program)).toBe(
      "sha256:ca90882c277ea8c14145fe26ca3bc9a26115a0bc69a5f3783c100e67cbabff18",
    );
    const digests = [of(), of(["a", "1"]), of(["a", "2"]), of(["b", "1"]), of(["a", "1"], ["b", "1"])];
    expect(new Set(digests).size).toBe(digests.length);
    expect(of(["a", "1"], ["b", "2"])).toBe(of(["b", "2"], ["a", "1"]));
  });
});

const texts = mkdtempSync(join(tmpdir(), "ptc-text-"));
afterAll(() => rmSync(texts, { recursive: true, force: true }));

const write = (name: string, content: string | Uint8Array) => writeFileSync(join(texts, name), content);
const readFrom = (file: string, flags: { data?: string } = {}, stdin = Readable.from([])) =>
  readProgram(file, flags, { stdin, cwd: () => texts }, ["typescript"]);

describe("a file that is no text", () => {
  it.each([
    ["Latin-1", [0x61, 0xe9, 0x62, 0x63], 1],
    ["Latin-1 at the end", [0x61, 0x62, 0xe9], 2],
    ["a byte that goes on with nothing", [0x61, 0x80, 0x62], 1],
    ["a character cut by the end", [0x61, 0xe2, 0x82], 1],
    ["a character cut by another", [0x61, 0x62, 0xe2, 0x82, 0x61, 0x61], 2],
    ["half a surrogate pair", [0x61, 0xed, 0xa0, 0x80], 1],
  ])("is refused with the place of its first wrong byte: %s", async (_, bytes, at) => {
    write("wrong.ts", Uint8Array.from(bytes));
    const shown = bytes[at]?.toString(16);
    const message = `wrong.ts:1: is not UTF-8: byte ${at} of the file, 0x${shown}, begins no character; save it as UTF-8`;
    const stdin = Readable.from([Buffer.from(bytes)]);
    await expect(readTextFile("wrong.ts", texts, 100)).rejects.toThrow(message);
    await expect(readFrom("wrong.ts")).rejects.toThrow(message);
    await expect(readFrom("-", { data: "@wrong.ts" })).rejects.toThrow(message);
    await expect(readFrom("-", {}, stdin)).rejects.toThrow(`stdin:1: is not UTF-8`);
  });

  it("is refused with the line of its first wrong byte", async () => {
    write("latin.ts", Buffer.from('// caf\n\nconsole.log("caf\u00e9");\n', "latin1"));
    const message = "latin.ts:3: is not UTF-8: byte 24 of the file, 0xe9, begins no character";
    await expect(readFrom("latin.ts")).rejects.toThrow(message);
  });

  it("is not read beyond a bound, even one that never ends", async () => {
    await expect(readTextFile("/dev/zero", texts, 1_000)).rejects.toThrow("is larger than 1000 bytes");
  });
});

describe("data that is no data", () => {
  it.each([
    ['{"a":1e400}', "holds a number beyond"],
    ['{"a":1,"a":2}', 'has the key "a" twice'],
    ["[".repeat(1_000) + "]".repeat(1_000), "nests deeper than 128 levels"],
    ["{a: 1}", "is not JSON"],
    ["", "is not JSON"],
  ])("is refused in one line: %.20s", async (json, why) => {
    write("data.json", json);
    await expect(readFrom("-", { data: json })).rejects.toThrow(`--data: ${why}`);
    await expect(readFrom("-", { data: "@data.json" })).rejects.toThrow(`data.json: ${why}`);
  });
});
