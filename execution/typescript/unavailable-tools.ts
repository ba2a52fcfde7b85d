import { visibleLine } from "../../base/text/visible-text.ts";
import type { DeclaredTool, GeneratedModule } from "../../codegen/generated-module.ts";

/** A module's text without the functions that programs may not call. */
export function withoutUnavailable({ text, tools }: GeneratedModule): string {
  let kept = "";
  let at = 0;
  for (const { start, end } of tools.filter(({ isAvailable }) => !isAvailable)) {
    kept += text.slice(at, start);
    at = end;
  }
  return kept + text.slice(at);
}

/** The message about a tool that the configuration forbids to programs. */
export function explainUnavailable(tool: DeclaredTool): string {
  return `'${visibleLine(tool.namespacedName)}' is not available in execute_program: the configuration does not allow it`;
}
