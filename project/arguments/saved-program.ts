/** Saved programs on a command line: their arguments, and the help that shows them. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { visibleLine } from "../../base/visible-text.ts";
import { type Parameter, toolParameters } from "../../catalog/arguments.ts";
import type { Program } from "../../languages/program.ts";
import type { Project } from "../open-project.ts";
import {
  explainUnknown,
  filesOf,
  isSavedProgram,
  programByName,
  refuseOffLanguage,
  requireProgram,
} from "../programs/named-program.ts";
import { Refusal } from "../refusal.ts";
import type { Surroundings } from "../surroundings.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { readCallArguments, renderCallHelp } from "./call-arguments.ts";

/**
 * The program that runs a saved program, with its data and its time limit; `undefined` if a word is the name of a file.
 *
 * @param given the words after the name (`--key value`, `--key=value` and `key=value`), and the values of flags.
 * @throws Refusal for a word that names nothing, and for arguments that the program does not take.
 */
export async function readSavedProgram(
  name: string,
  given: { words: readonly string[]; data: string | undefined; language: string | undefined },
  configuration: Project["configuration"],
  surroundings: Surroundings,
): Promise<{ program: Program; timeoutMs: number | undefined } | undefined> {
  if (!isSavedProgram(name, configuration)) {
    if (existsSync(resolve(surroundings.cwd(), name))) return undefined;
    throw new Refusal(await explainUnknown(name, configuration));
  }
  const found = await requireProgram(name, configuration);
  if (given.language !== undefined) throw new Refusal("--language: a saved program has its own");
  refuseOffLanguage(found, configuration);
  const inputSchema = found.manifest.input;
  const data = await readCallArguments(
    {
      words: asAssignments(given.words, toolParameters(inputSchema).parameters),
      json: given.data,
      option: "--data",
    },
    { name: found.name, inputSchema },
    surroundings,
  );
  return { program: await programByName(found, data), timeoutMs: found.manifest.timeoutMs };
}

/**
 * The arguments of a saved program, as `ptc run NAME --help` shows them; `undefined` if there is none of this name.
 *
 * @param options the options of `ptc run` itself. An argument with the name of one of them must be given as NAME=VALUE.
 */
export async function helpOfSavedProgram(
  name: string,
  configuration: Project["configuration"],
  terminal: Terminal,
  options: readonly string[],
): Promise<string | undefined> {
  if (!isSavedProgram(name, configuration)) return undefined;
  const program = await requireProgram(name, configuration);
  const help = renderCallHelp(program.tool, terminal, {
    title: name,
    nameOf: (parameter) =>
      options.includes(`--${optionOf(parameter)}`)
        ? `${visibleLine(parameter.name)}=`
        : `--${visibleLine(optionOf(parameter))} `,
    call: `ptc run ${name}`,
  });
  return `${help}\nFrom ${filesOf(program)}.\n`;
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
    else if (next === undefined) throw new Refusal(`--${visibleLine(option)} needs a value`);
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
