import { visibleLine } from "../../base/visible-text.ts";
import type { DeclaredTool, GeneratedModule } from "../../codegen/generated-module.ts";
import { ToolNames } from "../../protocol/tool-names.ts";
import type { ModuleSource } from "../module-source.ts";

const MAX_TOOL_NAMES = 2_000;

/** The distinct texts of the form `mcp__<server_module>__<tool>` in a program. */
export function mentionedToolNames(code: string): string[] {
  return [...new Set(code.match(/\bmcp__[A-Za-z0-9_$]+/g))].slice(0, MAX_TOOL_NAMES);
}

/** Loads the modules whose tools a program names and, where asked for, those that it imports. */
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

/** The message for a name that may mean several tools. It says how to name each. */
export function explainAmbiguous(
  name: string,
  meant: readonly DeclaredTool[],
  names: ToolNames<DeclaredTool>,
): string {
  const each = meant.map((tool) => `'${visibleLine(tool.namespacedName)}' (write ${names.callable(tool)})`);
  return `'${name}' may mean ${each.join(" or ")}`;
}
