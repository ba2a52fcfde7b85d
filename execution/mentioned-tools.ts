import { ToolNames } from "../protocol/tool-alias.ts";
import { type DeclaredTool, declaredTools } from "./declared-tools.ts";
import type { ModuleSource } from "./module-source.ts";

const MAX_TOOL_NAMES = 2_000;

/** The names in a program's text that read like `mcp__<server_module>__<tool>`, each once. */
export function mentionedToolNames(code: string): string[] {
  return [...new Set(code.match(/\bmcp__[A-Za-z0-9_$]+/g))].slice(0, MAX_TOOL_NAMES);
}

/** The texts of the modules whose tools a program names, and of those that it imports where that is asked for. */
export async function loadMentioned(
  code: string,
  source: ModuleSource,
  { imported = false } = {},
): Promise<Map<string, string>> {
  const paths = imported ? code.matchAll(/\bservers\/([a-z0-9_]+)/g) : [];
  const mentioned = new Set([...paths].map(([, module]) => module));
  const names = mentionedToolNames(code);
  const wanted = source
    .modules()
    .filter((module) => mentioned.has(module) || names.some((name) => name.startsWith(`mcp__${module}__`)));
  const loaded = await Promise.all(
    wanted.map(async (module) => [module, await source.load(module)] as const),
  );
  return new Map(loaded.flatMap(([module, text]) => (text === undefined ? [] : [[module, text] as const])));
}

/** What the tools of some modules can be called. */
export function toolNamesOf(texts: ReadonlyMap<string, string>): ToolNames<DeclaredTool> {
  return new ToolNames([...texts].flatMap(([module, text]) => declaredTools(module, text)));
}

/** Says that a name may mean several tools, and how to name each. */
export function explainAmbiguous(
  name: string,
  meant: readonly DeclaredTool[],
  names: ToolNames<DeclaredTool>,
): string {
  const each = meant.map((tool) => `'${tool.namespacedName}' (write ${names.callable(tool)})`);
  return `'${name}' may mean ${each.join(" or ")}`;
}
