import { readFile } from "node:fs/promises";
import { basename, extname, resolve } from "node:path";
import { text as readText } from "node:stream/consumers";
import type { Language, Program } from "../execution/program.ts";
import { UsageError } from "./exit-code.ts";
import type { Surroundings } from "./surroundings.ts";

const LANGUAGES: Readonly<Record<string, Language>> = {
  ".ts": "typescript",
  ".mts": "typescript",
  ".js": "javascript",
  ".mjs": "javascript",
};
const STDIN_FILE_NAME = "program.ts";
/**
 * Reads a program from a file, or from stdin for `-`, and its data from a flag.
 *
 * @throws UsageError
 */
export async function readProgram(
  file: string,
  data: string | undefined,
  surroundings: Pick<Surroundings, "stdin" | "cwd">,
): Promise<Program> {
  const language = file === "-" ? "typescript" : LANGUAGES[extname(file).toLowerCase()];
  if (language === undefined) {
    throw new UsageError(`${file}: not a program; give a .ts, .mts, .js or .mjs file, or - for stdin`);
  }
  const code =
    file === "-" ? await readText(surroundings.stdin) : await readFileOrExplain(file, surroundings.cwd());
  return {
    code,
    data: await readData(data, surroundings.cwd()),
    language,
    fileName: file === "-" ? STDIN_FILE_NAME : basename(file),
  };
}

async function readData(flag: string | undefined, cwd: string): Promise<unknown> {
  if (flag === undefined) return {};
  const fromFile = flag.startsWith("@");
  const text = fromFile ? await readFileOrExplain(flag.slice(1), cwd) : flag;
  try {
    return JSON.parse(text);
  } catch (error) {
    const where = fromFile ? flag.slice(1) : "--data";
    throw new UsageError(`${where}: not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function readFileOrExplain(file: string, cwd: string): Promise<string> {
  try {
    return await readFile(resolve(cwd, file), "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") throw new UsageError(`${file}: there is no such file`);
    throw new UsageError(`${file}: cannot be read (${String(code)})`);
  }
}
