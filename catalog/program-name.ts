import { assignIdentifiers } from "./identifiers.ts";

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const MAX_NAME_CHARS = 48;

/** Files in `programs/` that are not programs, tools of `ptc serve`, and names that programs use. */
const TAKEN: ReadonlySet<string> = new Set([
  "index",
  "execute-program",
  "search-tools",
  "inspect-tool",
  "list-callable-tools",
  "read-output",
  "emit",
  "extract",
  "bytes-of",
  "tool-error",
  "resources",
  "prompts",
  "servers",
  "programs",
]);

/** Words and functions of Python, which cannot name a program's function. `assignIdentifiers` knows those of TypeScript. */
const PYTHON_WORDS: ReadonlySet<string> = new Set(
  (
    "and assert def del elif except global lambda nonlocal not or pass raise abs aiter all anext any ascii bin bool " +
    "breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir divmod enumerate exec filter float " +
    "format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len list locals map max " +
    "memoryview min next oct open ord pow print property range repr reversed round set setattr slice sorted staticmethod str " +
    "sum tuple type vars zip"
  ).split(" "),
);

/**
 * Why a saved program cannot have a name, as a phrase that follows the name, or `undefined` if it can. A valid name gives the name
 * of a tool in snake_case and names of functions in camelCase and snake_case. Other names get the same only by dividing words
 * differently.
 */
export function whyNoName(name: string): string | undefined {
  if (name.length > MAX_NAME_CHARS) return `is longer than ${MAX_NAME_CHARS} characters`;
  if (!NAME.test(name))
    return "is not a name of a saved program: lower-case words with - between them, such as weekly-report";
  if (TAKEN.has(name)) return "is a name that ptc uses itself; choose another";
  if (PYTHON_WORDS.has(name) || programFunction(name) !== camelCase(name))
    return "is a word of TypeScript or Python, which no function can be called; choose another";
  return undefined;
}

/** The name of a saved program's tool: `weekly_report` for `weekly-report`. */
export function toolNameOf(name: string): string {
  return name.replaceAll("-", "_");
}

/** The name of a saved program's function in TypeScript. */
export function programFunction(name: string): string {
  const tool = toolNameOf(name);
  return assignIdentifiers([tool]).get(tool) ?? "";
}

function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
