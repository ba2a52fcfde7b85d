import type { ModuleSource } from "../prepare/module-source.ts";
import { explainAmbiguous, loadMentioned, mentionedToolNames, toolNamesOf } from "./mentioned-tools.ts";

/**
 * A module that exports one function for each `mcp__<server>__<tool>` in the text, aliases under the tool's own name; the bundler uses
 * those that are free variables. Names of no tool are left to the broker, and one of several tools fails when called.
 */
export async function renderGlobalTools(code: string, source: ModuleSource): Promise<string> {
  const mentioned = mentionedToolNames(code);
  if (mentioned.length === 0) return "";
  const names = toolNamesOf(await loadMentioned(code, source));
  const exports = mentioned.map((name) => {
    const meant = names.resolve(name);
    const [first, another] = meant;
    if (another === undefined)
      return `export const ${name} = tool(${JSON.stringify(first?.namespacedName ?? name)});`;
    const message = JSON.stringify(explainAmbiguous(name, meant, names));
    return `export const ${name} = () => { throw new ReferenceError(${message}); };`;
  });
  return ['import { tool } from "tool";', ...exports].join("\n");
}
