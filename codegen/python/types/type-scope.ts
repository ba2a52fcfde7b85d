import { byCodeUnit } from "../../../base/by-code-unit.ts";
import { type NameAllocator, pascalCase } from "../../../catalog/identifiers.ts";
import type { ToolModel } from "../../../catalog/tool-model.ts";
import { ANNOTATION_NAMES } from "../python-names.ts";

/** What the types of one tool are called. */
export interface ToolTypeNames {
  /** The dict that has all its arguments. */
  input: string;
  output?: string;
  /** By `<role> <definition>`. */
  definitions: Map<string, string>;
}

/** Names that a module has beside its types. */
export function takenNames(functions: readonly string[]): string[] {
  return [...functions, ...ANNOTATION_NAMES, "None", "True", "False"];
}

/** Names the types of tools that have names: arguments, results and definitions. Others are named as they are met. */
export function nameToolTypes(
  tools: readonly ToolModel[],
  allocator: NameAllocator,
): Map<ToolModel, ToolTypeNames> {
  const names = new Map<ToolModel, ToolTypeNames>();
  const nameOf = (tool: ToolModel, key: string, suffix: string): string =>
    allocator.allocate(pascalCase(tool.identifier) + suffix, `${tool.definition.name} ${key}`);
  for (const tool of tools) {
    const own: ToolTypeNames = { input: nameOf(tool, "input", "Input"), definitions: new Map() };
    if (tool.output !== undefined) own.output = nameOf(tool, "output", "Output");
    names.set(tool, own);
  }
  for (const [tool, own] of names) {
    for (const role of ["input", "output"] as const) {
      const model = tool[role];
      if (model === undefined) continue;
      for (const name of [...model.definitions.keys()].sort(byCodeUnit)) {
        // A result that is a reference, and the definition it refers to, are one type with one name.
        const isRoot = role === "output" && model.root.kind === "reference" && model.root.name === name;
        const key = `${role} ${name}`;
        own.definitions.set(key, isRoot ? (own.output ?? "Any") : nameOf(tool, key, pascalCase(name)));
      }
    }
  }
  return names;
}
