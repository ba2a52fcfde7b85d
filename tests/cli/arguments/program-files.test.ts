import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readProgramFiles } from "../../../cli/arguments/program-file.ts";
import { inputDigest } from "../../../languages/program.ts";
import { MAX_PROGRAM_FILES, MAX_PROGRAM_FILES_BYTES, programFile } from "../../../protocol/program-files.ts";

const folder = mkdtempSync(join(tmpdir(), "ptc-files-"));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, "sub"));
writeFileSync(join(folder, "data.csv"), "a,b\n");
writeFileSync(join(folder, "sub", "data.csv"), Buffer.from([0, 255, 1]));
writeFileSync(join(folder, "a=b.csv"), "equals");
writeFileSync(join(folder, "large"), "");
truncateSync(join(folder, "large"), MAX_PROGRAM_FILES_BYTES - 3);

const read = (...words: string[]) => readProgramFiles(words, { cwd: () => folder });

describe("the files that a program is handed", () => {
  it("have their own names, or those that are said, and no path", async () => {
    const files = await read(
      "data.csv",
      "other.csv=sub/data.csv",
      "./a=b.csv",
      `small=${join(folder, "sub", "..", "data.csv")}`,
    );
    expect(files.map(({ name }) => name)).toEqual(["data.csv", "other.csv", "a=b.csv", "small"]);
    expect(files[1]).toEqual({
      name: "other.csv",
      bytes: 3,
      digest: "sha256:47ffa3ea45a70b8a41c2c0825df323c00a8b7a01c1ea06083cc41dddcc001123",
      base64: "AP8B",
    });
    expect(JSON.stringify(files)).not.toContain(folder);
  });

  it.each([
    [["nowhere.csv"], "--file: nowhere.csv: there is no such file"],
    [["sub"], "--file: sub: is a folder"],
    [["data.csv", "sub/data.csv"], "--file: two files are named 'data.csv'; give one as NAME=PATH"],
    [["..=data.csv"], "--file: '..' is no name of a file; give NAME=PATH"],
    [["/"], "--file: '' is no name of a file; give NAME=PATH"],
    [[`${"x".repeat(129)}=data.csv`], "is longer than 128 bytes; give NAME=PATH"],
    [["a\u202eb=data.csv"], "has characters that cannot be seen; give NAME=PATH"],
    [["a\nb=data.csv"], "has characters that cannot be seen; give NAME=PATH"],
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
    expect(error?.constructor.name).toBe("UsageError");
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
