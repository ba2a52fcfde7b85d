import { visibleLine } from "../../../base/visible-text.ts";
import { type Parameter, toolParameters } from "../../../catalog/arguments.ts";
import type { Configuration } from "../../../configuration/configuration.ts";
import {
  filesOf,
  programByName,
  refuseOffLanguage,
  type requireProgram,
} from "../../../project/programs/named-program.ts";
import { readCallArguments } from "../../arguments/call-arguments.ts";
import { type Surroundings, UsageError } from "../../command.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { renderCallHelp } from "../call.ts";

type NamedProgram = Awaited<ReturnType<typeof requireProgram>>;

/**
 * The program for a run by name, with its data.
 *
 * @param words the words after the name: `--key value`, `--key=value` and `key=value`.
 * @throws UsageError, Refusal for arguments that the program does not take.
 */
export async function readCallByName(
  program: NamedProgram,
  { words, json }: { words: readonly string[]; json: string | undefined },
  configuration: Configuration,
  surroundings: Surroundings,
): ReturnType<typeof programByName> {
  refuseOffLanguage(program, configuration);
  const parameters = toolParameters(program.manifest.input);
  const data = await readCallArguments(
    { words: asAssignments(words, parameters.parameters), json, option: "--data" },
    { name: program.name, parameters },
    surroundings,
  );
  return programByName(program, data);
}

/**
 * The arguments of a saved program, as `ptc run NAME --help` shows them.
 *
 * @param options the options of `ptc run` itself. An argument with the name of one of them must be given as NAME=VALUE.
 */
export function renderProgramHelp(
  program: NamedProgram,
  terminal: Terminal,
  options: readonly string[],
): string {
  const { name, tool } = program;
  const help = renderCallHelp(tool, terminal, {
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
