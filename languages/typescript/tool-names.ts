import { visibleLine } from "../../base/visible-text.ts";
import type { DeclaredTool, GeneratedModule } from "../../codegen/language-printer.ts";
import { ToolNames } from "../../protocol/tool-names.ts";
import type { ModuleSource } from "../module-source.ts";
import { didYouMean, nearestNames } from "../name-lookup.ts";

const MAX_TOOL_NAMES = 2_000;

/** The distinct texts of the form `mcp__<server_module>__<tool>` in a program. */
export function mentionedToolNames(code: string): string[] {
  return [...new Set(code.match(/\bmcp__[A-Za-z0-9_$]+/g))].slice(0, MAX_TOOL_NAMES);
}

/** Loads the modules whose tools a program names, and with `imported`, also the modules that it imports. */
export async function loadMentioned(
  code: string,
  source: ModuleSource,
  { imported = false } = {},
): Promise<Map<string, GeneratedModule>> {
  const paths = imported ? code.matchAll(/\bservers\/([a-z0-9_]+)|["'`/](programs)\b/g) : [];
  const mentioned = new Set([...paths].map(([, module, programs]) => module ?? programs));
  const names = mentionedToolNames(code);
  const wanted = source
    .modules()
    .filter((module) => mentioned.has(module) || names.some((name) => name.startsWith(`mcp__${module}__`)));
  const loaded = await Promise.all(
    wanted.map(async (module) => [module, await source.load(module)] as const),
  );
  return new Map(loaded.flatMap(([name, module]) => (module === undefined ? [] : [[name, module] as const])));
}

/** The names by which the tools of some modules can be called. */
export function toolNamesOf(modules: ReadonlyMap<string, GeneratedModule>): ToolNames<DeclaredTool> {
  return new ToolNames([...modules.values()].flatMap(({ tools }) => tools));
}

/** The message for a name that may mean several tools. It says how to name each of them. */
export function explainAmbiguous(
  name: string,
  meant: readonly DeclaredTool[],
  names: ToolNames<DeclaredTool>,
): string {
  const each = meant.map((tool) => `'${visibleLine(tool.namespacedName)}' (write ${names.callable(tool)})`);
  return `'${name}' may mean ${each.join(" or ")}`;
}

/** Matches `import { a, b as c } from "./programs/index.js"`, and every other form of import and export of that module. */
const IMPORTED =
  /\b(?:import|export)\b([^"';]{0,4000}?)(?:\bfrom\b|\()?\s*(["'`])(?:\.\/)?(?:servers\/)?programs(?:\/index(?:\.[jt]s)?)?\2/g;

/**
 * Finds the functions of saved programs that a program calls: those that it imports, and those whose tools it names.
 *
 * @param byImport whether to find only those that are imported by name.
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

const GLOBALS: ReadonlySet<string> = new Set([
  "ToolError",
  "callTool",
  "data",
  "pages",
  "parallel",
  "result",
]);

/** The message for a missing export, with what to write instead. @param local the program's name for the import. */
export function explainMissingExport(
  module: string,
  name: string,
  local: string,
  tools: readonly DeclaredTool[],
): string {
  if (name === "default")
    return `servers/${module} has no default export; write import * as ${local} from "./servers/${module}/index.js"`;
  const global = adviseGlobals([name]);
  if (global !== undefined) return `servers/${module} has no '${name}': ${global}`;
  const own = tools.filter((tool) => tool.module === module);
  const blocked = own.find(({ identifier, isAvailable }) => identifier === name && !isAvailable);
  if (blocked !== undefined) return explainUnavailable(blocked);
  const names = own.filter(({ isAvailable }) => isAvailable).map(({ identifier }) => identifier);
  return `servers/${module} has no function '${name}'${didYouMean(nearestNames(name, names))}`;
}

/** Advice on imported names that are globals and need no import. `undefined` if there are none. */
export function adviseGlobals(names: readonly string[]): string | undefined {
  const found = names.filter((name) => GLOBALS.has(name)).map((name) => `'${name}'`);
  if (found.length === 0) return undefined;
  const are = found.length === 1 ? "is a global; use it" : "are globals; use them";
  return `${found.join(", ")} ${are} without an import`;
}

/**
 * A module's text without the functions that programs may not call.
 *
 * @param options `declaredOnly` makes observed but undeclared results any.
 */
export function withoutUnavailable({ text, tools }: GeneratedModule, { declaredOnly = false } = {}): string {
  let kept = "";
  let at = 0;
  for (const { start, end, isAvailable, isObserved, output } of tools) {
    if (isAvailable && !(declaredOnly && isObserved)) continue;
    kept += text.slice(at, start);
    if (isAvailable) kept += text.slice(start, end).replace(`, ${output}>(`, ", any>(");
    at = end;
  }
  return kept + text.slice(at);
}

/** The message about a tool that the configuration does not allow in programs. */
export function explainUnavailable(tool: DeclaredTool): string {
  return `'${visibleLine(tool.namespacedName)}' is not available in execute_program: the configuration does not allow it`;
}
