/** The arguments of a tool on a command line: how they are read by its schema, and the help that shows them. */

import { ForeignJsonError, isObject, parseForeignJson, writeJson } from "../../base/json.ts";
import { oneLine, visibleLine, visibleLines } from "../../base/visible-text.ts";
import {
  describeTypes,
  isAmong,
  type Parameter,
  readArgument,
  type ToolParameters,
  toolParameters,
} from "../../catalog/arguments.ts";
import { similarNames } from "../../catalog/search/similar-names.ts";
import { MAX_CALL_FRAME_BYTES, MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { Refusal } from "../refusal.ts";
import type { Surroundings } from "../surroundings.ts";
import { layOutTable, type Terminal } from "../terminal/terminal.ts";
import { readTextFile, readTextStream } from "../text-file.ts";

const MAX_SHOWN_CHARS = 80;
const MAX_NAMES = 20;

const UNKNOWN = { types: undefined, choices: undefined, items: undefined };

export interface CallWords {
  /** `key=value`, and `@FILE` for all arguments. */
  words: readonly string[];
  /** The value of `--json`. */
  json: string | undefined;
  /** The name of that option, if it differs. */
  option?: string;
}

/**
 * Reads the arguments of a tool from the words of a command line, by the tool's schema.
 *
 * @throws Refusal for a word that is no argument, a name that the tool does not have, and a value of another type.
 */
export async function readCallArguments(
  { words, json, option = "--json" }: CallWords,
  { name: toolName, inputSchema }: { name: string; inputSchema: unknown },
  surroundings: Pick<Surroundings, "stdin" | "cwd">,
): Promise<Record<string, unknown>> {
  const tool = { name: toolName, parameters: toolParameters(inputSchema) };
  const files = new ArgumentFiles(surroundings);
  const wholes = [...(json === undefined ? [] : [json]), ...words.filter(isWhole)];
  if (wholes.length > 1)
    throw new Refusal(`all arguments were given twice, by ${option} or @FILE; give them once`);
  const given = new Map<string, unknown>(
    wholes[0] === undefined ? [] : await readWhole(wholes[0], option, files),
  );
  for (const name of given.keys()) findParameter(name, tool);
  const written = new Set<string>();
  for (const word of words) {
    if (isWhole(word)) continue;
    const at = word.indexOf("=");
    if (at <= 0)
      throw new Refusal(`'${shown(word)}' is no argument; write key=value, or @FILE for all of them`);
    const name = word.slice(0, at);
    const parameter = findParameter(name, tool);
    const value = await readValue(name, word.slice(at + 1), parameter, files);
    const before = written.has(name) ? given.get(name) : undefined;
    if (before === undefined) given.set(name, value);
    else if (Array.isArray(before) && Array.isArray(value)) given.set(name, [...before, ...value]);
    else throw new Refusal(`'${shown(name)}' stands twice; give it once`);
    written.add(name);
  }
  const missing = tool.parameters.parameters.find(({ name, isRequired }) => isRequired && !given.has(name));
  if (missing !== undefined) {
    throw new Refusal(
      `${tool.name} needs '${shown(missing.name)}'; --help after its name shows what it takes`,
    );
  }
  return Object.fromEntries(given);
}

function isWhole(word: string): boolean {
  return word.startsWith("@") && !word.includes("=");
}

async function readWhole(word: string, option: string, files: ArgumentFiles): Promise<[string, unknown][]> {
  const isFile = word.startsWith("@");
  const where = isFile ? visibleLine(word.slice(1)) : option;
  const text = isFile ? await files.read(word.slice(1)) : word;
  let value: unknown;
  try {
    value = parseForeignJson(text, { maxBytes: MAX_CALL_FRAME_BYTES, maxDepth: MAX_NESTING_DEPTH });
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    throw new Refusal(`${where}: ${error.message}`);
  }
  if (!isObject(value)) throw new Refusal(`${where}: must be an object with the tool's arguments`);
  return Object.entries(value);
}

async function readValue(
  name: string,
  word: string,
  parameter: Parameter | undefined,
  files: ArgumentFiles,
): Promise<unknown> {
  const isFile = word.startsWith("@") && !word.startsWith("@@");
  const text = isFile ? await files.read(word.slice(1)) : word.replace(/^@@/, "@");
  const read = readArgument(text, parameter ?? UNKNOWN);
  if (read.ok) return read.value;
  // The file is quoted by its name, because it may be long.
  const value = isFile ? visibleLine(word) : shown(word);
  throw new Refusal(`${shown(name)}=${value}: ${oneLine(read.why, 500)}`);
}

/** The parameter of an argument; `undefined` if the schema allows the argument without naming it. @throws Refusal */
function findParameter(
  name: string,
  { name: tool, parameters: { parameters, isOpen } }: { name: string; parameters: ToolParameters },
): Parameter | undefined {
  const found = parameters.find((parameter) => parameter.name === name);
  if (found !== undefined || isOpen) return found;
  const names = parameters.map((parameter) => parameter.name);
  const nearest = nearestName(name, names);
  const known =
    names.length === 0
      ? "it takes none"
      : `it takes ${names.slice(0, MAX_NAMES).map(visibleLine).join(", ")}`;
  const advice = nearest === undefined ? known : `did you mean '${visibleLine(nearest)}'?`;
  throw new Refusal(`${tool} has no argument '${shown(name)}'; ${advice}`);
}

/** The name that is most like a mistaken one; `undefined` if none is like it. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  return similarNames(name, names, 1)[0];
}

function shown(text: string): string {
  return oneLine(text, MAX_SHOWN_CHARS);
}

/** Reads the files of arguments; `-` is stdin, which can be read once. */
class ArgumentFiles {
  readonly #surroundings: Pick<Surroundings, "stdin" | "cwd">;
  #isStdinRead = false;

  constructor(surroundings: Pick<Surroundings, "stdin" | "cwd">) {
    this.#surroundings = surroundings;
  }

  async read(file: string): Promise<string> {
    const { stdin, cwd } = this.#surroundings;
    if (file === "") throw new Refusal("`@` without a file; write @FILE, or @- for stdin");
    if (file !== "-") return readTextFile(file, cwd(), MAX_CALL_FRAME_BYTES);
    if (this.#isStdinRead) throw new Refusal("`@-` stands twice; stdin can be read once");
    this.#isStdinRead = true;
    return readTextStream(stdin, "stdin", MAX_CALL_FRAME_BYTES);
  }
}

/** How a value of this argument is written: `TEXT`, `NUMBER`, `JSON`. */
function placeholderOf({ types }: Pick<Parameter, "types">): string {
  if (types === undefined) return "VALUE";
  const [only] = types.size === 1 ? types : [];
  if (only === "boolean") return "true|false";
  if (only === "string") return "TEXT";
  if (isAmong("integer", types) && types.size <= 2 && !types.has("string") && !types.has("array"))
    return "NUMBER";
  return types.has("array") || types.has("object") ? "JSON" : "VALUE";
}

const MAX_PARAMETERS = 200;
const MAX_DESCRIPTION_CHARS = 4_000;
const MAX_LINE_CHARS = 300;
const MAX_CHOICES = 12;

/** How a tool or a program is called from a shell. */
export interface HowCalled {
  title: string;
  /** The text before the value of an argument. */
  nameOf: (parameter: Pick<Parameter, "name">) => string;
  /** The command without arguments. */
  call: string;
}

/** The help for a tool from its schema: its arguments, and how to call it from a shell. */
export function renderCallHelp(
  tool: { description?: string | undefined; inputSchema: unknown },
  { style }: Terminal,
  { title, nameOf, call }: HowCalled,
): string {
  const { parameters, isOpen } = toolParameters(tool.inputSchema);
  const shown = parameters.slice(0, MAX_PARAMETERS);
  const rows = shown.map((parameter) => [
    { text: `  ${nameOf(parameter)}${placeholderOf(parameter)}` },
    { text: describe(parameter) },
  ]);
  const required = shown.filter(({ isRequired }) => isRequired);
  const example = required.map((parameter) => ` ${nameOf(parameter)}${placeholderOf(parameter)}`);
  const sections = [
    style("bold", title),
    ...(tool.description === undefined
      ? []
      : [visibleLines(tool.description.slice(0, MAX_DESCRIPTION_CHARS)).trim()]),
    parameters.length === 0
      ? isOpen
        ? "It takes any arguments."
        : "It takes no arguments."
      : [
          "Arguments:",
          ...layOutTable(rows),
          ...(parameters.length > shown.length ? [`  and ${parameters.length - shown.length} more`] : []),
          ...(isOpen ? ["  and any others"] : []),
        ].join("\n"),
    `Example:\n  ${call}${example.join("")}`,
  ];
  return `${sections.join("\n\n")}\n`;
}

function describe(parameter: Parameter): string {
  const { isRequired, types, choices, description, default: byDefault } = parameter;
  const facts = [
    ...(isRequired ? ["required"] : []),
    ...(choices === undefined
      ? types === undefined
        ? []
        : [describeTypes(types)]
      : [
          `one of ${choices
            .slice(0, MAX_CHOICES)
            .map((choice) => writeJson(choice))
            .join(", ")}${choices.length > MAX_CHOICES ? ", ..." : ""}`,
        ]),
    ...(byDefault === undefined ? [] : [`by default ${writeJson(byDefault)}`]),
  ].join(", ");
  return oneLine([facts, ...(description === undefined ? [] : [description])].join(". "), MAX_LINE_CHARS);
}
