import { visibleLine } from "../../base/visible-text.ts";
import type { DeclaredTool, GeneratedModule } from "../../codegen/generated-module.ts";

/**
 * A module's text without the functions that programs may not call.
 *
 * @param options `declaredOnly`: what was observed of results and not declared is any.
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

/** The message about a tool that the configuration forbids to programs. */
export function explainUnavailable(tool: DeclaredTool): string {
  return `'${visibleLine(tool.namespacedName)}' is not available in execute_program: the configuration does not allow it`;
}
