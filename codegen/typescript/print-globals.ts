import { byCodeUnit } from "../../base/by-code-unit.ts";
import { EXTRACT_NAME } from "../../protocol/tools/extract-tool.ts";
import { isWritableName, type NamedTool, ToolNames } from "../../protocol/tools/tool-alias.ts";
import { EXTRACT_DECLARATIONS } from "./print-extract.ts";

/** The text of `globals.d.ts`: tools by their namespaced names, in the form in which code can hold them. */
export function printGlobals(tools: readonly NamedTool[]): string {
  const names = new ToolNames(tools);
  const lines = tools
    .map((tool) => ({ tool, name: names.callable(tool) }))
    .filter(({ name }) => isWritableName(name))
    .sort((a, b) => byCodeUnit(a.name, b.name))
    .map(
      ({ tool, name }) =>
        `declare const ${name}: typeof import("./servers/${tool.module}/index.js").${tool.identifier};`,
    );
  const header = "/** Every tool by its namespaced name. Written by `ptc generate`: edits are lost. */";
  const asks = tools.some(({ namespacedName }) => namespacedName === EXTRACT_NAME);
  return `${[header, ...lines, ...(asks ? ["", EXTRACT_DECLARATIONS.trimEnd()] : [])].join("\n")}\n`;
}
