import { NameAllocator, pascalCase } from "../../../catalog/identifiers.ts";
import type { TypeModel } from "../../../catalog/model/type-model.ts";
import type { ToolModel } from "../../../catalog/tool-model.ts";
import { byCodeUnit } from "../../../protocol/canonical-json.ts";

/** The names of one tool's types: keys are `input`, `output` and `<role> <definition>`. */
export type TypeNames = ReadonlyMap<string, string>;

/** The type names of a module, tool by tool. */
export function nameTypes(tools: readonly ToolModel[]): Map<ToolModel, TypeNames> {
  const allocator = new NameAllocator(tools.map((tool) => tool.identifier));
  const names = new Map<ToolModel, Map<string, string>>(tools.map((tool) => [tool, new Map()]));
  const allocate = (tool: ToolModel, key: string, suffix: string): void => {
    const wanted = pascalCase(tool.identifier) + suffix;
    names.get(tool)?.set(key, allocator.allocate(wanted, `${tool.definition.name} ${key}`));
  };
  for (const tool of tools) {
    allocate(tool, "input", "Input");
    if (tool.output !== undefined) allocate(tool, "output", "Output");
  }
  for (const tool of tools) {
    const own = names.get(tool) ?? new Map<string, string>();
    nameDefinitions(tool, own, (key, name) => allocate(tool, key, pascalCase(name)));
  }
  return names;
}

/** The type names of a single tool, as short as possible. */
export function nameTypesBriefly(tool: ToolModel): TypeNames {
  const allocator = new NameAllocator(["Promise"]);
  const names = new Map<string, string>();
  const allocate = (key: string, wanted: string): void => {
    names.set(key, allocator.allocate(wanted, key));
  };
  allocate("input", "Input");
  if (tool.output !== undefined) allocate("output", "Output");
  nameDefinitions(tool, names, (key, name) => allocate(key, pascalCase(name)));
  return names;
}

/** Maps the names of a model's definitions in the schema to type names. */
export function definitionNames(model: TypeModel, role: "input" | "output", names: TypeNames) {
  return new Map(
    [...model.definitions.keys()].map((name) => [name, names.get(`${role} ${name}`) ?? "never"]),
  );
}

function nameDefinitions(
  tool: ToolModel,
  own: Map<string, string>,
  allocate: (key: string, name: string) => void,
): void {
  for (const role of ["input", "output"] as const) {
    const model = tool[role];
    if (model === undefined) continue;
    const root = model.root.kind === "reference" ? model.root.name : undefined;
    for (const name of [...model.definitions.keys()].sort(byCodeUnit)) {
      // A root that is a reference, and the definition it refers to, are one type with one name.
      if (name === root) own.set(`${role} ${name}`, own.get(role) ?? "never");
      else allocate(`${role} ${name}`, name);
    }
  }
}
