import { blockComment, quoteString } from "./escape.ts";
import { byCodeUnit, NameAllocator, pascalCase } from "./identifiers.ts";
import { printType } from "./print-types.ts";
import type { Warning } from "./server-listing.ts";
import type { ServerModel, ToolModel } from "./tool-model.ts";
import { ANY, type Documentation, type TypeModel } from "./type-model.ts";

/** What one tool contributes to a module. */
interface PrintedTool {
  declarations: string[];
  inputName: string;
  outputName?: string;
}

/** The text of `servers/<server_module>/index.ts`. A tool whose types cannot be printed takes and returns any. */
export async function printServerModule(server: ServerModel): Promise<{ text: string; warnings: Warning[] }> {
  const warnings: Warning[] = [];
  const names = nameTypes(server.tools);
  const blocks: string[] = [printHeader(server)];
  if (server.tools.length > 0) blocks.push('import { tool } from "../../runtime.js";');
  for (const tool of server.tools) {
    const own = names.get(tool) ?? new Map();
    let printed: PrintedTool;
    try {
      printed = await printDeclarations(tool, own);
    } catch {
      warnings.push({
        server: server.name,
        tool: tool.definition.name,
        message: "its types cannot be printed; they are any",
      });
      printed = await printDeclarations(withoutTypes(tool), own);
    }
    blocks.push(...printed.declarations, printFunction(tool, printed));
  }
  if (server.tools.length === 0) blocks.push("export {};");
  return { text: `${blocks.join("\n\n")}\n`, warnings };
}

/** The shortest faithful declaration of one tool: its types and its function. */
export async function printToolSignature(tool: ToolModel): Promise<string> {
  const own = nameTypes([tool]).get(tool) ?? new Map();
  const printed = await printDeclarations(tool, own).catch(() => printDeclarations(withoutTypes(tool), own));
  const optional = acceptsNothing(tool.input) ? "?" : "";
  const signature = `${tool.identifier}(args${optional}: ${printed.inputName}): Promise<${printed.outputName ?? "any"}>`;
  const comment = blockComment(tool.description ?? "");
  return [...printed.declarations, [...comment, `function ${signature};`].join("\n")].join("\n");
}

/** Whether a tool can be called without arguments. */
function acceptsNothing(input: TypeModel): boolean {
  const type = input.root.kind === "reference" ? input.definitions.get(input.root.name)?.type : input.root;
  return (
    type?.kind === "any" ||
    (type?.kind === "object" && type.properties.every((property) => !property.required))
  );
}

function printHeader(server: ServerModel): string {
  const lines = [
    `Tools of the MCP server ${quoteString(server.name)}. Written by \`ptc generate\`: edits are lost.`,
  ];
  return blockComment([server.description ?? "", ...lines].join("\n").trim()).join("\n");
}

function printFunction(tool: ToolModel, printed: PrintedTool): string {
  const facts = tool.output === undefined ? ["@returns any: this tool declares no output schema"] : [];
  const types = `${printed.inputName}, ${printed.outputName ?? "any"}`;
  const call = `export const ${tool.identifier} = tool<${types}>(${quoteString(tool.namespacedName)});`;
  return [...blockComment(tool.description ?? "", facts), call].join("\n");
}

async function printDeclarations(tool: ToolModel, names: ReadonlyMap<string, string>): Promise<PrintedTool> {
  const declarations: string[] = [];
  const printModel = async (model: TypeModel, role: "input" | "output"): Promise<string> => {
    const definitionNames = new Map<string, string>();
    for (const name of model.definitions.keys()) {
      definitionNames.set(name, names.get(`${role} ${name}`) ?? "unknown");
    }
    const any = role === "input" ? "unknown" : "any";
    const declare = async (
      name: string,
      type: TypeModel["root"],
      documentation: Documentation,
    ): Promise<void> => {
      const printed = await printType({ type, documentation, names: definitionNames, any });
      const isInterface = type.kind === "object";
      const declaration = isInterface
        ? `interface ${name} ${printed.text}`
        : `type ${name} = ${printed.text};`;
      declarations.push([...printed.comment, `export ${declaration}`].join("\n"));
    };
    const rootName = names.get(role) ?? "unknown";
    if (model.root.kind !== "reference") await declare(rootName, model.root, model.documentation);
    for (const [name, definition] of model.definitions) {
      await declare(definitionNames.get(name) ?? "unknown", definition.type, definition.documentation);
    }
    return rootName;
  };
  const inputName = await printModel(tool.input, "input");
  if (tool.output === undefined) return { declarations, inputName };
  return { declarations, inputName, outputName: await printModel(tool.output, "output") };
}

/** The type names of a module, tool by tool: keys are `input`, `output` and `<role> <definition>`. */
function nameTypes(tools: readonly ToolModel[]): Map<ToolModel, Map<string, string>> {
  const allocator = new NameAllocator(tools.map((tool) => tool.identifier));
  const names = new Map<ToolModel, Map<string, string>>(tools.map((tool) => [tool, new Map()]));
  const allocate = (tool: ToolModel, key: string, suffix: string): void => {
    const wanted = pascalCase(tool.identifier) + suffix;
    names.get(tool)?.set(key, allocator.allocate(wanted, `${tool.definition.name} ${key}`));
  };
  const nameDefinitions = (tool: ToolModel, role: string, model: TypeModel): void => {
    const root = model.root.kind === "reference" ? model.root.name : undefined;
    for (const name of [...model.definitions.keys()].sort(byCodeUnit)) {
      const own = names.get(tool);
      // A schema whose root is referred to carries the name of the whole.
      if (name === root) own?.set(`${role} ${name}`, own.get(role) ?? "unknown");
      else allocate(tool, `${role} ${name}`, pascalCase(name));
    }
  };
  for (const tool of tools) {
    allocate(tool, "input", "Input");
    if (tool.output !== undefined) allocate(tool, "output", "Output");
  }
  for (const tool of tools) {
    nameDefinitions(tool, "input", tool.input);
    if (tool.output !== undefined) nameDefinitions(tool, "output", tool.output);
  }
  return names;
}

function withoutTypes(tool: ToolModel): ToolModel {
  const untyped: TypeModel = { root: ANY, documentation: {}, definitions: new Map() };
  return { ...tool, input: untyped, ...(tool.output === undefined ? {} : { output: untyped }) };
}
