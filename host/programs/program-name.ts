import { assignIdentifiers } from "../../catalog/identifiers.ts";

const NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const MAX_NAME_CHARS = 48;

/** Files of `programs/` that are no program's, and tools that `ptc serve` has itself. */
const TAKEN: ReadonlySet<string> = new Set([
  "index",
  "execute-program",
  "search-tools",
  "inspect-tool",
  "list-callable-tools",
  "read-output",
]);

/** Words that a program in Python cannot have as a function's name. Those of TypeScript are known to `assignIdentifiers`. */
const PYTHON_WORDS: ReadonlySet<string> = new Set(
  "and assert def del elif except global lambda nonlocal not or pass raise dict float int list str bool".split(
    " ",
  ),
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
