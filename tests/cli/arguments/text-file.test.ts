import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { readProgram } from "../../../cli/arguments/program-file.ts";
import { readTextFile } from "../../../cli/arguments/text-file.ts";

const folder = mkdtempSync(join(tmpdir(), "ptc-text-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, content: string | Uint8Array) => writeFileSync(join(folder, name), content);
const surroundings = (stdin: Readable = Readable.from([])) => ({ stdin, cwd: () => folder });

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
    await expect(readTextFile("wrong.ts", folder, 100)).rejects.toThrow(message);
    await expect(readProgram("wrong.ts", {}, surroundings(), ["typescript"])).rejects.toThrow(message);
    await expect(readProgram("-", { data: "@wrong.ts" }, surroundings(), ["typescript"])).rejects.toThrow(
      message,
    );
    const stdin = Readable.from([Buffer.from(bytes)]);
    await expect(readProgram("-", {}, surroundings(stdin), ["typescript"])).rejects.toThrow(
      `stdin:1: is not UTF-8`,
    );
  });

  it("is refused with the line of its first wrong byte", async () => {
    write("latin.ts", Buffer.from('// caf\n\nconsole.log("caf\u00e9");\n', "latin1"));
    const message = "latin.ts:3: is not UTF-8: byte 24 of the file, 0xe9, begins no character";
    await expect(readProgram("latin.ts", {}, surroundings(), ["typescript"])).rejects.toThrow(message);
  });

  it("is not read beyond a bound, even one that never ends", async () => {
    await expect(readTextFile("/dev/zero", folder, 1_000)).rejects.toThrow("is larger than 1000 bytes");
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
    await expect(readProgram("-", { data: json }, surroundings(), ["typescript"])).rejects.toThrow(
      `--data: ${why}`,
    );
    await expect(readProgram("-", { data: "@data.json" }, surroundings(), ["typescript"])).rejects.toThrow(
      `data.json: ${why}`,
    );
  });
});
