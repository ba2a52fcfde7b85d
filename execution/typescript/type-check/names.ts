import type { DeclaredTool } from "../../../codegen/generated-module.ts";
import { isWritableName } from "../../../protocol/tools/tool-alias.ts";
import type { ModuleSource } from "../../prepare/module-source.ts";
import { didYouMean, nearestNames } from "../../prepare/nearest-names.ts";
import { adviseUndefined } from "../advice/undefined-names.ts";
import { explainAmbiguous } from "../mentioned-tools.ts";
import {
  type Diagnostic,
  isTypeNode,
  isTypeOfExpression,
  type Node,
  type SourceFile,
} from "../typescript-api.ts";
import { explainUnavailable } from "../unavailable-tools.ts";
import type { GeneratedTypes } from "./generated-types.ts";

const OWN_TOOLS: ReadonlySet<string> = new Set([
  "execute_program",
  "search_tools",
  "inspect_tool",
  "list_callable_tools",
]);

/** Says that a name is not defined, unless that is harmless: in a type, after `typeof`, or defined at run time. */
export async function judgeName(
  diagnostic: Diagnostic,
  node: Node,
  file: SourceFile,
  generated: GeneratedTypes,
  source: ModuleSource,
): Promise<string | undefined> {
  const [, name, suggestion] =
    /^(?:Cannot find name|No value exists in scope for the shorthand property) '(.+?)'(?:\. Did you mean '(.+?)'\?)?/.exec(
      diagnostic.text,
    ) ??
    /^'(.+?)' only refers to a type/.exec(diagnostic.text) ??
    [];
  if (name === undefined || isInType(node) || isMadeAtRunTime(name, file)) return undefined;
  const misread = misreadTool(diagnostic.pos, file.text, generated.tools);
  if (misread !== undefined) {
    const callable = generated.names.callable(misread);
    return `'${misread.namespacedName}' is no name that code can have; write ${callable}(...)`;
  }
  if (name.startsWith("mcp__")) return explainUnknownTool(name, generated, source.modules());
  if (suggestion !== undefined) return `'${name}' is not defined${didYouMean([suggestion])}`;
  const advice = await adviseUndefined(name, file.text, source);
  return `'${name}' is not defined${advice === undefined ? "" : `; ${advice}`}`;
}

function explainUnknownTool(
  name: string,
  { tools, names }: GeneratedTypes,
  modules: readonly string[],
): string {
  const meant = names.resolve(name);
  const [first, another] = meant;
  if (another !== undefined) return explainAmbiguous(name, meant, names);
  if (first !== undefined) return explainUnavailable(first);
  if (OWN_TOOLS.has(name.replace(/^mcp__.*__/, "")))
    return `there is no tool '${name}': the tools of ptc itself cannot be called by a program`;
  const callable = tools.filter(({ isAvailable }) => isAvailable).map((tool) => names.callable(tool));
  const nearest = nearestNames(name, callable);
  if (nearest.length > 0) return `there is no tool '${name}'${didYouMean(nearest)}`;
  const [, server = "", tool = ""] = /^mcp__(.+?)__(.*)$/.exec(name) ?? [];
  const servers = nearestNames(server, modules).map((module) => `mcp__${module}__${tool}`);
  return `there is no tool '${name}'${didYouMean(servers)}`;
}

/** The tool whose exact name surrounds a place in the text, with characters that mean something else in code. */
function misreadTool(place: number, text: string, tools: readonly DeclaredTool[]): DeclaredTool | undefined {
  const around = tools.filter(({ namespacedName }) => {
    if (isWritableName(namespacedName)) return false;
    const { length } = namespacedName;
    return text.slice(Math.max(0, place - length + 1), place + length).includes(namespacedName);
  });
  return around.sort((a, b) => b.namespacedName.length - a.namespacedName.length)[0];
}

function isInType(node: Node): boolean {
  for (let each = node; each.parent !== undefined; each = each.parent) {
    if (isTypeNode(each)) return true;
    if (isTypeOfExpression(each)) return true;
  }
  return false;
}

/** Whether the program tests if the name exists, or may define it as a global itself. */
function isMadeAtRunTime(name: string, file: SourceFile): boolean {
  const escaped = name.replace(/\$/g, "\\$");
  if (new RegExp(`\\btypeof\\s+\\(?\\s*${escaped}\\b`).test(file.text)) return true;
  const text = file.text.replace(/\bglobalThis\.result\b|\bglobalThis as any\)\.result\b/g, "");
  if (!/\b(?:globalThis|global|eval|Function)\b/.test(text)) return false;
  return new RegExp(`[.["'\`{,]\\s*${escaped}\\b["'\`]?\\s*\\]?\\s*[=,:}]`).test(text);
}
