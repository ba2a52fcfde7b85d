import { ForeignJsonError, isObject, parseForeignJson } from "../../base/json.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import { isAmong, type Parameter, readArgument, type ToolParameters } from "../../catalog/arguments.ts";
import { similarNames } from "../../catalog/search/similar-names.ts";
import { readTextFile, readTextStream } from "../../project/text-file.ts";
import { MAX_CALL_FRAME_BYTES, MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { type Surroundings, UsageError } from "../command.ts";

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
 * @throws UsageError for a word that is no argument, a name that the tool does not have, and a value of another type.
 */
export async function readCallArguments(
  { words, json, option = "--json" }: CallWords,
  tool: { name: string; parameters: ToolParameters },
  surroundings: Pick<Surroundings, "stdin" | "cwd">,
): Promise<Record<string, unknown>> {
  const files = new ArgumentFiles(surroundings);
  const wholes = [...(json === undefined ? [] : [json]), ...words.filter(isWhole)];
  if (wholes.length > 1)
    throw new UsageError(`all arguments were given twice, by ${option} or @FILE; give them once`);
  const given = new Map<string, unknown>(
    wholes[0] === undefined ? [] : await readWhole(wholes[0], option, files),
  );
  for (const name of given.keys()) findParameter(name, tool);
  const written = new Set<string>();
  for (const word of words) {
    if (isWhole(word)) continue;
    const at = word.indexOf("=");
    if (at <= 0)
      throw new UsageError(`'${shown(word)}' is no argument; write key=value, or @FILE for all of them`);
    const name = word.slice(0, at);
    const parameter = findParameter(name, tool);
    const value = await readValue(name, word.slice(at + 1), parameter, files);
    const before = written.has(name) ? given.get(name) : undefined;
    if (before === undefined) given.set(name, value);
    else if (Array.isArray(before) && Array.isArray(value)) given.set(name, [...before, ...value]);
    else throw new UsageError(`'${shown(name)}' stands twice; give it once`);
    written.add(name);
  }
  const missing = tool.parameters.parameters.find(({ name, isRequired }) => isRequired && !given.has(name));
  if (missing !== undefined) {
    throw new UsageError(
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
    throw new UsageError(`${where}: ${error.message}`);
  }
  if (!isObject(value)) throw new UsageError(`${where}: must be an object with the tool's arguments`);
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
  throw new UsageError(`${shown(name)}=${value}: ${oneLine(read.why, 500)}`);
}

/** The parameter of an argument; `undefined` if the schema allows the argument without naming it. @throws UsageError */
function findParameter(
  name: string,
  { name: tool, parameters: { parameters, isOpen } }: { name: string; parameters: ToolParameters },
): Parameter | undefined {
  const found = parameters.find((parameter) => parameter.name === name);
  if (found !== undefined || isOpen) return found;
  const names = parameters.map((parameter) => parameter.name);
  const [nearest] = similarNames(name, names, 1);
  const known =
    names.length === 0
      ? "it takes none"
      : `it takes ${names.slice(0, MAX_NAMES).map(visibleLine).join(", ")}`;
  const advice = nearest === undefined ? known : `did you mean '${visibleLine(nearest)}'?`;
  throw new UsageError(`${tool} has no argument '${shown(name)}'; ${advice}`);
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
    if (file === "") throw new UsageError("`@` without a file; write @FILE, or @- for stdin");
    if (file !== "-") return readTextFile(file, cwd(), MAX_CALL_FRAME_BYTES);
    if (this.#isStdinRead) throw new UsageError("`@-` stands twice; stdin can be read once");
    this.#isStdinRead = true;
    return readTextStream(stdin, "stdin", MAX_CALL_FRAME_BYTES);
  }
}

/** How a value of this argument is written: `TEXT`, `NUMBER`, `JSON`. */
export function placeholderOf({ types }: Pick<Parameter, "types">): string {
  if (types === undefined) return "VALUE";
  const [only] = types.size === 1 ? types : [];
  if (only === "boolean") return "true|false";
  if (only === "string") return "TEXT";
  if (isAmong("integer", types) && types.size <= 2 && !types.has("string") && !types.has("array"))
    return "NUMBER";
  return types.has("array") || types.has("object") ? "JSON" : "VALUE";
}
