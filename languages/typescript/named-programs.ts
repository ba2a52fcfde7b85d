import type { DeclaredTool } from "../../codegen/generated-module.ts";
import { mentionedToolNames } from "./mentioned-tools.ts";

/** `import { a, b as c } from "./programs/index.js"`, and every other form of import and export of that module. */
const IMPORTED =
  /\b(?:import|export)\b([^"';]{0,4000}?)(?:\bfrom\b|\()?\s*(["'`])(?:\.\/)?(?:servers\/)?programs(?:\/index(?:\.[jt]s)?)?\2/g;

/**
 * Which of the functions of saved programs a program calls: those that it imports, and those whose tools it names.
 *
 * @param byImport only those that are imported by their names.
 */
export function calledPrograms<T extends Pick<DeclaredTool, "identifier" | "namespacedName">>(
  code: string,
  tools: readonly T[],
  byImport = false,
): T[] {
  const imported = new Set<string>();
  let isWhole = false;
  for (const [, clause = ""] of code.matchAll(IMPORTED)) {
    const names = /\{([^}]*)\}/.exec(clause)?.[1];
    if (names === undefined) isWhole = true;
    for (const name of (names ?? "").split(",")) imported.add(name.trim().split(/\s/)[0] ?? "");
  }
  if (byImport) return tools.filter(({ identifier }) => imported.has(identifier));
  const named = new Set(mentionedToolNames(code));
  return tools.filter(
    ({ identifier, namespacedName }) =>
      imported.has(identifier) ||
      named.has(namespacedName) ||
      (isWhole && new RegExp(`\\.\\s*${identifier}\\b|\\b${identifier}\\b(?=[^;]*=)`).test(code)),
  );
}
