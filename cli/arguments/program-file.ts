import { basename } from "node:path";
import { ForeignJsonError, parseForeignJson } from "../../base/json/parse-json.ts";
import type { Program } from "../../execution/program.ts";
import { languageOfFile, PROGRAM_SUFFIXES, UNNAMED_PROGRAM } from "../../host/program-files.ts";
import { MAX_CODE_BYTES, MAX_NESTING_DEPTH, MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import { UsageError } from "../exit-code.ts";
import type { Surroundings } from "../surroundings.ts";
import { readTextFile, readTextStream } from "./text-file.ts";

/** The largest file that is read. A program that is only somewhat too large gets an envelope that says so. */
const MAX_PROGRAM_BYTES = 4 * MAX_CODE_BYTES;
/** Data is sent to the sandbox in one frame. */
const MAX_DATA_BYTES = MAX_REPLY_FRAME_BYTES;

/**
 * Reads a program from a file, or from stdin for `-`, and its data from a flag.
 *
 * @throws UsageError
 */
export async function readProgram(
  file: string,
  data: string | undefined,
  surroundings: Pick<Surroundings, "stdin" | "cwd" | "readFile">,
): Promise<Program> {
  const language = file === "-" ? UNNAMED_PROGRAM.language : languageOfFile(file);
  if (language === undefined) {
    const suffixes = `${PROGRAM_SUFFIXES.slice(0, -1).join(", ")} or ${PROGRAM_SUFFIXES.at(-1)}`;
    throw new UsageError(`${file}: not a program; give a ${suffixes} file, or - for stdin`);
  }
  const code =
    file === "-"
      ? await readTextStream(surroundings.stdin, "stdin", MAX_PROGRAM_BYTES)
      : await readTextFile(file, surroundings.cwd(), MAX_PROGRAM_BYTES, surroundings.readFile);
  return {
    code,
    data: await readData(data, surroundings),
    language,
    fileName: file === "-" ? UNNAMED_PROGRAM.fileName : basename(file),
  };
}

async function readData(
  flag: string | undefined,
  { cwd, readFile }: Pick<Surroundings, "cwd" | "readFile">,
): Promise<unknown> {
  if (flag === undefined) return {};
  const file = flag.startsWith("@") ? flag.slice(1) : undefined;
  const text = file === undefined ? flag : await readTextFile(file, cwd(), MAX_DATA_BYTES, readFile);
  try {
    return parseForeignJson(text, { maxBytes: MAX_DATA_BYTES, maxDepth: MAX_NESTING_DEPTH });
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    throw new UsageError(`${file ?? "--data"}: ${error.message}`);
  }
}
