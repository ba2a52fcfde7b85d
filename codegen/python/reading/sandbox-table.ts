import type { DeclaredTool, GeneratedModule } from "../../generated-module.ts";
import { packageName } from "../python-names.ts";
import { codeLines } from "../python-text.ts";

/** What a function of a module calls. */
interface CalledTool {
  /** The tool's namespaced name. */
  tool: string;
  /** Properties by the names of parameters that are called otherwise. */
  parameters: Record<string, string>;
}

/** The names that a sandbox is told of modules, by Python's name of each module. */
interface SandboxTable {
  /** Tools by the names of functions. */
  modules: Record<string, Record<string, CalledTool>>;
  /** Types that stubs declare. Programs may import them, to annotate what they hold. */
  types: Record<string, string[]>;
}

const TYPE =
  /^(?:class ([\p{XIDC}]+)\(TypedDict|type ([\p{XIDC}]+) = |([\p{XIDC}]+) = (?:TypedDict\(|[\p{XIDC}]+$))/u;

/** Modules as the sandbox needs them: names alone, and none of the text that servers wrote beside them. */
export function sandboxTable(modules: Iterable<readonly [string, GeneratedModule]>): SandboxTable {
  const all = [...modules];
  return {
    modules: Object.fromEntries(all.map(([module, { tools }]) => [packageName(module), functionsOf(tools)])),
    types: Object.fromEntries(all.map(([module, { text }]) => [packageName(module), typesOf(text)])),
  };
}

function functionsOf(tools: readonly DeclaredTool[]): Record<string, CalledTool> {
  return Object.fromEntries(
    tools.map(({ identifier, namespacedName, parameters = {} }) => [
      identifier,
      { tool: namespacedName, parameters: { ...parameters } },
    ]),
  );
}

function typesOf(text: string): string[] {
  return [...codeLines(text)].flatMap(({ line }) => {
    const [, dict, alias, name] = TYPE.exec(line) ?? [];
    return dict ?? alias ?? name ?? [];
  });
}
