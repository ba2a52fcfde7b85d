import type { DeclaredTool } from "../../codegen/generated-module.ts";
import { didYouMean, nearestNames } from "../nearest-names.ts";
import { explainUnavailable } from "./unavailable-tools.ts";

const GLOBALS: ReadonlySet<string> = new Set(["ToolError", "callTool", "data", "parallel", "result"]);

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

/** Says which of some imported names are globals that need no import; `undefined` when none is. */
export function adviseGlobals(names: readonly string[]): string | undefined {
  const found = names.filter((name) => GLOBALS.has(name)).map((name) => `'${name}'`);
  if (found.length === 0) return undefined;
  const are = found.length === 1 ? "is a global; use it" : "are globals; use them";
  return `${found.join(", ")} ${are} without an import`;
}
