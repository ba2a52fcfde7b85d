import { lstatSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { decodeFile } from "../base/file-text.ts";
import { writeJson } from "../base/json.ts";
import { visibleLine } from "../base/visible-text.ts";
import { withExactNumbers } from "../broker/exact-numbers.ts";
import { describeProblem } from "../broker/schemas/schema-problem.ts";
import { programFunction, whyNoName } from "../catalog/program-name.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { MAX_CONFIGURATION_BYTES } from "../configuration/yaml-source.ts";
import { languageOfFile } from "../languages/languages.ts";
import { byCodeUnit } from "../protocol/canonical-json.ts";
import { MAX_CODE_BYTES } from "../protocol/limits.ts";
import { PROGRAMS_MODULE } from "../protocol/tool-names.ts";
import { type Manifest, parseManifest } from "./manifest.ts";
import { listFiles, programsDirectory } from "./programs-directory.ts";

const SUFFIX = ".yaml";
const MAX_PROGRAMS = 500;

/** The files of a saved program. */
export interface ProgramFiles {
  readonly name: string;
  readonly manifest: Manifest;
  /** The name of its text in messages: `programs/<file>`. */
  readonly fileName: string;
  readonly language: string;
  readonly code: string;
}

/** The content of the folder of saved programs. */
interface ProgramFolder {
  /** The usable programs, sorted by name. */
  readonly programs: readonly ProgramFiles[];
  /** The problems of other programs by their names, one line each. */
  readonly problems: ReadonlyMap<string, string>;
}

/** The name of a program's manifest. */
export function manifestFile(name: string): string {
  return `${name}${SUFFIX}`;
}

/** The name of a program's recorded example. */
export function exampleFile(name: string): string {
  return `${name}.example.json`;
}

/** Reads the saved programs. A program that is wrong is one problem, and affects no other program. */
export function readPrograms(configuration: Pick<Configuration, "directory">): ProgramFolder {
  const directory = programsDirectory(configuration);
  const names = listFiles(directory)
    .filter((file) => file.endsWith(SUFFIX))
    .map((file) => file.slice(0, -SUFFIX.length))
    .sort(byCodeUnit);
  const programs: ProgramFiles[] = [];
  const problems = new Map<string, string>();
  const functions = new Map<string, string>();
  for (const name of names.slice(0, MAX_PROGRAMS)) {
    try {
      const program = readProgramFiles(directory, name);
      const called = programFunction(name).toLowerCase();
      const other = functions.get(called);
      if (other !== undefined)
        throw wrong(name, 1, `its function would be called as that of '${other}' is; rename one of the two`);
      functions.set(called, name);
      programs.push(program);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.set(name, error.message);
    }
  }
  for (const name of names.slice(MAX_PROGRAMS))
    problems.set(name, wrong(name, 1, `there are more than ${MAX_PROGRAMS} saved programs`).message);
  return { programs, problems };
}

/** @throws ConfigurationError in one line that names the file and the line. */
function readProgramFiles(directory: string, name: string): ProgramFiles {
  const reason = whyNoName(name);
  if (reason !== undefined) throw wrong(name, 1, `'${visibleLine(name)}' ${reason}`);
  const text = readText(directory, manifestFile(name), MAX_CONFIGURATION_BYTES);
  const manifest = parseManifest(text, shownFile(manifestFile(name)));
  const language = languageOfFile(manifest.program);
  const stem = manifest.program.slice(0, -extname(manifest.program).length);
  if (language === undefined || stem !== name)
    throw wrong(
      name,
      lineOf(text, "program:"),
      `program: '${manifest.program}' is not ${name}.ts, .js or .py, beside the manifest`,
    );
  const code = readText(directory, manifest.program, MAX_CODE_BYTES);
  return { name, manifest, fileName: shownFile(manifest.program), language, code };
}

/** @throws ConfigurationError unless the file is a regular file of valid UTF-8 within the limit. */
export function readText(directory: string, file: string, maxBytes: number): string {
  const path = join(directory, file);
  const shown = shownFile(file);
  try {
    const status = lstatSync(path);
    if (!status.isFile()) throw new ConfigurationError("unreadable", `${shown}: is not a file`);
    if (status.size > maxBytes)
      throw new ConfigurationError("invalid", `${shown}: is larger than ${maxBytes} bytes`);
    return decodeFile(readFileSync(path));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const why =
      code === "ENOENT"
        ? "there is no such file"
        : code.startsWith("ERR_")
          ? "is not UTF-8"
          : `cannot be read (${code})`;
    throw new ConfigurationError("unreadable", `${shown}: ${why}`);
  }
}

/** The name of a file of the folder in messages. */
export function shownFile(file: string): string {
  return `${PROGRAMS_MODULE}/${file}`;
}

function wrong(name: string, line: number, message: string): ConfigurationError {
  return new ConfigurationError("invalid", `${shownFile(manifestFile(name))}:${line}: ${message}`);
}

function lineOf(text: string, start: string): number {
  return (
    Math.max(
      0,
      text.split("\n").findIndex((line) => line.startsWith(start)),
    ) + 1
  );
}

/** Why a saved program cannot take these arguments, in one line; `undefined` if it can. */
export async function whyNotInput(
  { manifest }: Pick<ProgramFiles, "manifest">,
  data: unknown,
): Promise<string | undefined> {
  const { checkAgainstSchema } = await import("../broker/schemas/schema-check.ts");
  const problem = checkAgainstSchema(writeJson(manifest.input), withExactNumbers(manifest.input, data));
  return problem && describeProblem("arguments", problem);
}

/** @throws ConfigurationError in one line, for a manifest with an invalid schema. */
export async function requireSchemas({
  name,
  manifest,
}: Pick<ProgramFiles, "name" | "manifest">): Promise<void> {
  const { findSchemaMistake } = await import("../broker/schemas/schema-mistake.ts");
  for (const key of ["input", "output"] as const) {
    const mistake = manifest[key] && findSchemaMistake(manifest[key]);
    if (mistake !== undefined)
      throw new ConfigurationError(
        "invalid",
        `${shownFile(manifestFile(name))}: ${key}: is no JSON schema: ${mistake}`,
      );
  }
}
