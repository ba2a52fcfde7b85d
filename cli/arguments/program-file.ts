import { basename } from "node:path";
import { ForeignJsonError, parseForeignJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import {
  type LanguageName,
  languageNamed,
  languageOfFile,
  languageOfInterpreter,
  programSuffixes,
  whyNotOn,
} from "../../languages/languages.ts";
import type { UnresolvedProgram } from "../../languages/resolve-program.ts";
import { Refusal } from "../../project/refusal.ts";
import { readBytes, readTextFile, readTextStream } from "../../project/text-file.ts";
import { MAX_CODE_BYTES, MAX_NESTING_DEPTH, MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import {
  MAX_PROGRAM_FILES,
  MAX_PROGRAM_FILES_BYTES,
  type ProgramFile,
  programFile,
  whyNoFileName,
} from "../../protocol/program-files.ts";
import { type Surroundings, UsageError } from "../command.ts";

/** The largest file that is read. A program that is only somewhat too large gets an envelope that says so. */
const MAX_PROGRAM_BYTES = 4 * MAX_CODE_BYTES;
/** Data is sent to the sandbox in one frame. */
const MAX_DATA_BYTES = MAX_REPLY_FRAME_BYTES;

export interface ProgramFlags {
  data?: string | undefined;
  /** The language that the user names. */
  language?: string | undefined;
}

/**
 * Reads a program from a file, or from stdin for `-`, and its data from a flag. The flag, the file's suffix or the interpreter in
 * the first line names the language, in this order. A program from stdin may have none of these.
 *
 * @param languages the languages that are on.
 * @throws UsageError
 */
export async function readProgram(
  file: string,
  flags: ProgramFlags,
  surroundings: Pick<Surroundings, "stdin" | "cwd" | "readFile">,
  languages: readonly LanguageName[],
): Promise<UnresolvedProgram> {
  const said = flags.language;
  if (said !== undefined && languageNamed(said) === undefined)
    throw new UsageError(`--language: ${whyNotOn(said, languages)}`);
  const before = said === undefined ? languageOfFile(file) : languageNamed(said);
  if (before !== undefined) refuseOff(before, file, languages);
  const code =
    file === "-"
      ? await readTextStream(surroundings.stdin, "stdin", MAX_PROGRAM_BYTES)
      : await readTextFile(file, surroundings.cwd(), MAX_PROGRAM_BYTES, surroundings.readFile);
  const language = before ?? languageOfInterpreter(code);
  if (language !== undefined) refuseOff(language, file, languages);
  else if (file !== "-") {
    const suffixes = programSuffixes(languages);
    const others = suffixes.slice(0, -1).join(", ");
    const known = `${others === "" ? "" : `${others} or `}${suffixes.at(-1)}`;
    throw new UsageError(`${file}: not a program; give a ${known} file, say --language, or give - for stdin`);
  }
  return {
    code,
    data: await readData(flags.data, surroundings),
    ...(language === undefined ? {} : { language }),
    ...(file === "-" ? {} : { fileName: basename(file) }),
  };
}

function refuseOff(language: string, file: string, languages: readonly LanguageName[]): void {
  const why = whyNotOn(language, languages);
  if (why !== undefined) throw new UsageError(`${file === "-" ? "stdin" : file}: ${why}`);
}

/**
 * Reads the files for a program, each from a path or from `NAME=PATH`. A program sees their names but no paths.
 *
 * @throws UsageError
 */
export async function readProgramFiles(
  words: readonly string[],
  { cwd, readFile }: Pick<Surroundings, "cwd" | "readFile">,
): Promise<ProgramFile[]> {
  if (words.length > MAX_PROGRAM_FILES)
    throw new UsageError(
      `--file: a program takes at most ${MAX_PROGRAM_FILES} files, and here are ${words.length}`,
    );
  const files: ProgramFile[] = [];
  let room = MAX_PROGRAM_FILES_BYTES;
  for (const word of words) {
    // A path with an equals sign in its name is written with its folder: ./a=b.csv.
    const [, named, renamed] = /^([^/\\=]+)=(.+)$/.exec(word) ?? [];
    const path = renamed ?? word;
    const name = named ?? basename(path);
    const why = whyNoFileName(name);
    if (why !== undefined) throw new UsageError(`--file: '${visibleLine(name)}' ${why}; give NAME=PATH`);
    if (files.some((file) => file.name === name))
      throw new UsageError(`--file: two files are named '${visibleLine(name)}'; give one as NAME=PATH`);
    const content = await readBytes(path, cwd(), room, readFile).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      throw new UsageError(`--file: ${error.message}`);
    });
    if (content.length > room)
      throw new UsageError(
        `--file: ${visibleLine(path)}: all files of a program have at most ${MAX_PROGRAM_FILES_BYTES} bytes together; give less, or call a tool that reads it`,
      );
    room -= content.length;
    files.push(programFile(name, content));
  }
  return files;
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
