import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { readProgram } from "../../../cli/arguments/program-file.ts";
import type { LanguageName } from "../../../languages/languages.ts";

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
