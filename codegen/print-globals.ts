import { byCodeUnit } from "./identifiers.ts";

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** What `globals.d.ts` needs to know of a tool. */
export interface GlobalTool {
  module: string;
  identifier: string;
  namespacedName: string;
}

/** The text of `globals.d.ts`: tools by their namespaced names, where those are identifiers. */
export function printGlobals(tools: readonly GlobalTool[]): string {
  const lines = tools
    .filter((tool) => IDENTIFIER.test(tool.namespacedName))
    .sort((a, b) => byCodeUnit(a.namespacedName, b.namespacedName))
    .map(
      (tool) =>
        `declare const ${tool.namespacedName}: typeof import("./servers/${tool.module}/index.js").${tool.identifier};`,
    );
  const header = "/** Every tool by its namespaced name. Written by `ptc generate`: edits are lost. */";
  return `${[header, ...lines].join("\n")}\n`;
}
