import { assignIdentifiers } from "./identifiers.ts";

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const MAX_NAME_CHARS = 48;

/** Files of `programs/` that are no program's, tools that `ptc serve` has itself, and what programs find around them. */
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

/** Words and functions of Python, which a function of a program cannot be called as. Those of TypeScript are known to `assignIdentifiers`. */
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
 * Why a saved program cannot have a name, in words that follow it; `undefined` when it can. A name that can be has a tool's name in
 * snake_case, and functions in camelCase and snake_case, which no other name has but for where its words begin.
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

/** The name of the tool that stands for a saved program: `weekly_report` of `weekly-report`. */
export function toolNameOf(name: string): string {
  return name.replaceAll("-", "_");
}

/** The name of its function in TypeScript. */
export function programFunction(name: string): string {
  const tool = toolNameOf(name);
  return assignIdentifiers([tool]).get(tool) ?? "";
}

function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
