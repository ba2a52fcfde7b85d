/** The saved programs that a command line names. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { visibleLine } from "../../base/visible-text.ts";
import { similarNames } from "../../catalog/search/similar-names.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { whyNotOn } from "../../languages/languages.ts";
import type { Program } from "../../languages/program.ts";
import { callByName } from "../../programs/call-by-name.ts";
import { openPrograms } from "../../programs/open-programs.ts";
import { manifestFile, shownFile, whyNotInput } from "../../programs/program-folder.ts";
import { programsDirectory } from "../../programs/programs-directory.ts";
import type { NamedProgram, SavedPrograms } from "../../programs/saved-programs.ts";
import { Refusal } from "../refusal.ts";

const MAX_LISTED = 20;

/** Whether a word on the command line names a saved program, even one that cannot be used. */
export function isSavedProgram(word: string, configuration: Configuration): boolean {
  return /^[a-z0-9-]+$/.test(word) && existsSync(join(programsDirectory(configuration), manifestFile(word)));
}

/** The saved program of this name. @throws Refusal, ConfigurationError with the problem of the program. */
export async function requireProgram(name: string, configuration: Configuration): Promise<NamedProgram> {
  const programs = await openPrograms(configuration);
  const found = programs?.find(name);
  if (found !== undefined) return found;
  const problem = programs?.problems.get(name);
  if (problem !== undefined) throw new Refusal(problem);
  throw new Refusal(
    explainMissing(`there is no saved program '${visibleLine(name)}'`, name, namesOf(programs)),
  );
}

/** Says that a word is neither a file nor a saved program. */
export async function explainUnknown(word: string, configuration: Configuration): Promise<string> {
  const programs = await openPrograms(configuration);
  if (programs === undefined) return `${visibleLine(word)}: there is no such file`;
  return explainMissing(
    `there is no file and no saved program '${visibleLine(word)}'`,
    word,
    namesOf(programs),
  );
}

function namesOf(programs: SavedPrograms | undefined): string[] {
  return programs?.programs.map(({ name }) => name) ?? [];
}

/** Says what is missing, and what the user may have meant. */
export function explainMissing(what: string, name: string, known: readonly string[]): string {
  const [nearest] = similarNames(name, known, 1);
  if (nearest !== undefined) return `${what}; did you mean '${nearest}'?`;
  if (known.length === 0) return `${what}; \`ptc save\` saves one`;
  const more = known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more` : "";
  return `${what}; there are ${known.slice(0, MAX_LISTED).join(", ")}${more}`;
}

/** The files of a saved program, as people write them. */
export function filesOf({ name, manifest }: NamedProgram): string {
  return `${shownFile(manifestFile(name))} and ${manifest.program}`;
}

/** @throws Refusal if the language of the program is not one of the configuration's. */
export function refuseOffLanguage(
  { language, fileName }: NamedProgram,
  { languages }: Pick<Configuration, "languages">,
): void {
  const off = whyNotOn(language, languages);
  if (off !== undefined) throw new Refusal(`${fileName}: ${off}`);
}

/** The program that runs a saved program with some data. @throws Refusal for data that it does not take. */
export async function programByName(program: NamedProgram, data: unknown): Promise<Program> {
  const problem = await whyNotInput(program, data);
  if (problem !== undefined) throw new Refusal(`${program.name}: ${problem}`);
  return callByName(program, data);
}
