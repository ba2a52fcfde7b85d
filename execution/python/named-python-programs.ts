import type { DeclaredTool } from "../../codegen/generated-module.ts";
import { blankTexts } from "./blank-text.ts";

const FROM = /^[ \t]*from[ \t]+(?:servers\.)?programs[ \t]+import[ \t]+(\([^)]*\)|[^\n;]*)/gm;
const WHOLE =
  /^[ \t]*(?:import[ \t][^\n;]*\b(?:servers\.)?programs\b|from[ \t]+servers[ \t]+import[ \t][^\n;]*\bprograms\b)/m;

/**
 * Which of the functions of saved programs a program in Python calls: those that it imports, and those whose tools it names.
 *
 * @param byImport only those that are imported by their names.
 */
export function calledPythonPrograms<T extends Pick<DeclaredTool, "identifier" | "namespacedName">>(
  text: string,
  tools: readonly T[],
  byImport = false,
): T[] {
  const { code } = blankTexts(text);
  const imported = new Set<string>();
  for (const { 1: names = "" } of code.matchAll(FROM))
    for (const [name] of names.matchAll(/[A-Za-z_]\w*|\*/g)) imported.add(name);
  const isWhole = WHOLE.test(code) || imported.has("*");
  if (byImport) return tools.filter(({ identifier }) => imported.has(identifier));
  const named = new Set(text.match(/\bmcp__programs__\w+/g));
  return tools.filter(
    ({ identifier, namespacedName }) =>
      imported.has(identifier) ||
      named.has(namespacedName) ||
      (isWhole && new RegExp(`\\b${identifier}\\b`).test(code)),
  );
}
