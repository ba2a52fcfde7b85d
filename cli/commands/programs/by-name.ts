import { existsSync } from "node:fs";
import { join } from "node:path";
import { visibleLine } from "../../../base/visible-text.ts";
import { type Parameter, toolParameters } from "../../../catalog/arguments.ts";
import { similarNames } from "../../../catalog/search/similar-names.ts";
import type { Configuration } from "../../../configuration/configuration.ts";
import { whyNotOn } from "../../../languages/languages.ts";
import type { UnresolvedProgram } from "../../../languages/resolve-program.ts";
import { callByName } from "../../../programs/call-by-name.ts";
import { openPrograms } from "../../../programs/open-programs.ts";
import { manifestFile, shownFile, whyNotInput } from "../../../programs/program-folder.ts";
import { programsDirectory } from "../../../programs/programs-directory.ts";
import type { NamedProgram, SavedPrograms } from "../../../programs/saved-programs.ts";
import { readCallArguments } from "../../arguments/call-arguments.ts";
import { type Surroundings, UsageError } from "../../command.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { renderCallHelp } from "../call.ts";

const MAX_LISTED = 20;

/** Whether a word on the command line names a saved program, even one that cannot be used. */
export function isSavedProgram(word: string, configuration: Configuration): boolean {
  return /^[a-z0-9-]+$/.test(word) && existsSync(join(programsDirectory(configuration), manifestFile(word)));
}

/** The saved program of this name. @throws UsageError, ConfigurationError with the problem of the program. */
export async function requireProgram(name: string, configuration: Configuration): Promise<NamedProgram> {
  const programs = await openPrograms(configuration);
  const found = programs?.find(name);
  if (found !== undefined) return found;
  const problem = programs?.problems.get(name);
  if (problem !== undefined) throw new UsageError(problem);
  throw new UsageError(
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

/**
 * The program for a run by name, with its data.
 *
 * @param words the words after the name: `--key value`, `--key=value` and `key=value`.
 * @throws UsageError for arguments that the program does not take.
 */
export async function readCallByName(
  program: NamedProgram,
  { words, json }: { words: readonly string[]; json: string | undefined },
  configuration: Configuration,
  surroundings: Surroundings,
): Promise<UnresolvedProgram> {
  const off = whyNotOn(program.language, configuration.languages);
  if (off !== undefined) throw new UsageError(`${program.fileName}: ${off}`);
  const parameters = toolParameters(program.manifest.input);
  const data = await readCallArguments(
    { words: asAssignments(words, parameters.parameters), json, option: "--data" },
    { name: program.name, parameters },
    surroundings,
  );
  const problem = await whyNotInput(program, data);
  if (problem !== undefined) throw new UsageError(`${program.name}: ${problem}`);
  return callByName(program, data);
}

/**
 * The arguments of a saved program, as `ptc run NAME --help` shows them.
 *
 * @param options the options of `ptc run` itself. An argument with the name of one of them must be given as NAME=VALUE.
 */
export function renderProgramHelp(
  { name, tool, manifest }: NamedProgram,
  terminal: Terminal,
  options: readonly string[],
): string {
  const help = renderCallHelp(tool, terminal, {
    title: name,
    nameOf: (parameter) =>
      options.includes(`--${optionOf(parameter)}`)
        ? `${visibleLine(parameter.name)}=`
        : `--${visibleLine(optionOf(parameter))} `,
    call: `ptc run ${name}`,
  });
  return `${help}\nFrom ${shownFile(manifestFile(name))} and ${manifest.program}.\n`;
}

/** Turns `--key value` into `key=value`. An option is a parameter's name, or the name with `-` between its words. */
function asAssignments(words: readonly string[], parameters: readonly Parameter[]): string[] {
  const assignments: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const [, option, value] = /^--([^=]+)(?:=([\s\S]*))?$/.exec(word) ?? [];
    if (option === undefined) {
      if (word !== "--") assignments.push(word);
      continue;
    }
    const named = (text: string) => parameters.find((each) => each.name === text || optionOf(each) === text);
    const parameter = named(option);
    const isSwitch = parameter?.types?.size === 1 && parameter.types.has("boolean");
    const negated = option.startsWith("no-") ? named(option.slice("no-".length)) : undefined;
    const next = words[at + 1];
    if (value !== undefined) assignments.push(`${parameter?.name ?? option}=${value}`);
    else if (parameter === undefined && negated !== undefined) assignments.push(`${negated.name}=false`);
    else if (isSwitch && next !== "true" && next !== "false") assignments.push(`${parameter?.name}=true`);
    else if (next === undefined) throw new UsageError(`--${visibleLine(option)} needs a value`);
    else {
      assignments.push(`${parameter?.name ?? option}=${next}`);
      at++;
    }
  }
  return assignments;
}

/** The option for a parameter: `since-date` for `sinceDate` and `since_date`. */
function optionOf({ name }: Pick<Parameter, "name">): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
}
