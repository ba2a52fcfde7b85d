import { PROGRAMS_MODULE } from "../../protocol/tools/programs-module.ts";
import type { CalledProgram } from "../prepare/called-programs.ts";
import type { ModuleSource } from "../prepare/module-source.ts";
import { offersExtract } from "../prepare/offers-extract.ts";
import { explainAmbiguous, loadMentioned, mentionedToolNames, toolNamesOf } from "./mentioned-tools.ts";

/** A `callTool` that runs saved programs too, where a program has both. */
function renderCallTool(code: string, saved: ReadonlyMap<string, Pick<CalledProgram, "declared">>): string[] {
  if (saved.size === 0 || !/\bcallTool\b/.test(code)) return [];
  const entries = [...saved].map(
    ([tool, { declared }]) => `[${JSON.stringify(tool)}, $ptc.${declared.identifier}]`,
  );
  return [
    `import * as $ptc from "${PROGRAMS_MODULE}";`,
    `const $programs = new Map([${entries.join(", ")}]);`,
    "export const callTool = (name, args) => ($programs.get(name) ?? ((given) => globalThis.callTool(name, given)))(args);",
  ];
}

/**
 * A module that exports one function for each `mcp__<server>__<tool>` in the text, aliases under the tool's own name; the bundler uses
 * those that are free variables, and of `extract` where a model is configured. Names of no tool are left to the broker, and one of
 * several tools fails when called.
 */
export async function renderGlobalTools(
  code: string,
  source: ModuleSource,
  saved: ReadonlyMap<string, Pick<CalledProgram, "declared">> = new Map(),
): Promise<string> {
  const extract = (await offersExtract(code, source))
    ? ['export const extract = /* @__PURE__ */ (() => globalThis[Symbol.for("ptc.extract")])();']
    : [];
  const mentioned = mentionedToolNames(code);
  if (mentioned.length === 0) return extract.join("\n");
  const names = toolNamesOf(await loadMentioned(code, source));
  const exports = mentioned.map((name) => {
    const meant = names.resolve(name);
    const [first, another] = meant;
    const called = another === undefined && first !== undefined && saved.get(first.namespacedName);
    if (called) return `export { ${called.declared.identifier} as ${name} } from "${PROGRAMS_MODULE}";`;
    if (another === undefined)
      return `export const ${name} = tool(${JSON.stringify(first?.namespacedName ?? name)});`;
    const message = JSON.stringify(explainAmbiguous(name, meant, names));
    return `export const ${name} = () => { throw new ReferenceError(${message}); };`;
  });
  return ['import { tool } from "tool";', ...exports, ...renderCallTool(code, saved), ...extract].join("\n");
}
