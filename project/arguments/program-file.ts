import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { ForeignJsonError, parseForeignJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import type { TypecheckMode } from "../../languages/language.ts";
import {
  type LanguageName,
  languageNamed,
  languageOfFile,
  languageOfInterpreter,
  programSuffixes,
  whyNotOn,
} from "../../languages/languages.ts";
import type { UnresolvedProgram } from "../../languages/resolve-program.ts";
import { MAX_CODE_BYTES, MAX_NESTING_DEPTH, MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import {
  MAX_PROGRAM_FILES,
  MAX_PROGRAM_FILES_BYTES,
  type ProgramFile,
  programFile,
  whyNoFileName,
} from "../../protocol/program-files.ts";
import { Refusal } from "../refusal.ts";
import type { Surroundings } from "../surroundings.ts";
import { readBytes, readTextFile, readTextStream } from "../text-file.ts";

/** The largest file that is read. A program that is only somewhat too large gets an envelope that says so. */
const MAX_PROGRAM_BYTES = 4 * MAX_CODE_BYTES;
/** Data is sent to the sandbox in one frame. */
const MAX_DATA_BYTES = MAX_REPLY_FRAME_BYTES;

const MAX_TIMEOUT_SECONDS = 86_400;
const MAX_SAID_BYTES = 512 * 1024;

export interface ProgramFlags {
  data?: string | undefined;
  /** The language that the user names. */
  language?: string | undefined;
}

/** Whether a word names the file of a program: by how it ends, or because there is such a file. */
export function isProgramFile(word: string, cwd: string): boolean {
  return languageOfFile(word) !== undefined || existsSync(resolve(cwd, word));
}

/**
 * Reads a program from a file, or from stdin for `-`, and its data from a flag. The flag, the file's suffix or the interpreter in
 * the first line names the language, in this order. A program from stdin may have none of these.
 *
 * @param languages the languages that are on.
 * @throws Refusal
 */
export async function readProgram(
  file: string,
  flags: ProgramFlags,
  surroundings: Pick<Surroundings, "stdin" | "cwd" | "readFile">,
  languages: readonly LanguageName[],
): Promise<UnresolvedProgram> {
  const said = flags.language;
  if (said !== undefined && languageNamed(said) === undefined)
    throw new Refusal(`--language: ${whyNotOn(said, languages)}`);
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
    throw new Refusal(`${file}: not a program; give a ${known} file, say --language, or give - for stdin`);
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
  if (why !== undefined) throw new Refusal(`${file === "-" ? "stdin" : file}: ${why}`);
}

/**
 * Reads the files for a program, each from a path or from `NAME=PATH`. A program sees their names but no paths.
 *
 * @throws Refusal
 */
export async function readProgramFiles(
  words: readonly string[],
  { cwd, readFile }: Pick<Surroundings, "cwd" | "readFile">,
): Promise<ProgramFile[]> {
  if (words.length > MAX_PROGRAM_FILES)
    throw new Refusal(
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
    if (why !== undefined) throw new Refusal(`--file: '${visibleLine(name)}' ${why}; give NAME=PATH`);
    if (files.some((file) => file.name === name))
      throw new Refusal(`--file: two files are named '${visibleLine(name)}'; give one as NAME=PATH`);
    const content = await readBytes(path, cwd(), room, readFile).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error;
      throw new Refusal(`--file: ${error.message}`);
    });
    if (content.length > room)
      throw new Refusal(
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
    throw new Refusal(`${file ?? "--data"}: ${error.message}`);
  }
}

/** Reads `--timeout`, as milliseconds. @throws Refusal */
export function parseTimeout(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS)) {
    throw new Refusal(`--timeout: '${text}' is not a number of seconds between 0 and ${MAX_TIMEOUT_SECONDS}`);
  }
  return Math.ceil(seconds * 1_000);
}

/** Reads `--typecheck`. @throws Refusal */
export function parseTypecheck(mode: string | undefined): TypecheckMode | undefined {
  if (mode === undefined || mode === "error" || mode === "warn" || mode === "off") return mode;
  throw new Refusal(`--typecheck: '${mode}' is not error, warn or off`);
}

/** Reads the file that says what the user said. @throws Refusal */
export function readSaid(file: string, { cwd }: Pick<Surroundings, "cwd">): Promise<string> {
  return readTextFile(file, cwd(), MAX_SAID_BYTES);
}
