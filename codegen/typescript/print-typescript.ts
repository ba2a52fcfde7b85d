import type { Documentation, TypeModel, TypeNode } from "../../catalog/model/type-model.ts";
import type { Warning } from "../../catalog/server-listing.ts";
import { type ServerModel, type ToolModel, withoutTypes } from "../../catalog/tool-model.ts";
import { blockComment, quoteString } from "../escape.ts";
import { observedNote, UNWRAPPED_NOTE } from "../observed-note.ts";
import { printMethods } from "./print-methods.ts";
import { printToolDeclaration } from "./tool-declaration.ts";
import { type PrintRequest, printTypes } from "./types/print-types.ts";
import { DOCUMENTED } from "./types/type-layout.ts";
import { definitionNames, nameTypes, type TypeNames } from "./types/type-names.ts";

/** Tools whose types are printed at once: enough to save time, few enough to bound memory. */
const BATCH = 100;

/** A type that a module declares, before it is printed. */
interface Declaration extends PrintRequest {
  name: string;
  documentation: Documentation;
}

/** The text of `servers/<server_module>/index.ts`. A tool whose types cannot be printed takes and returns any. */
export async function printServerModule(server: ServerModel): Promise<{ text: string; warnings: Warning[] }> {
  const warnings: Warning[] = [];
  const names = nameTypes(server.tools);
  const blocks: string[] = [printHeader(server)];
  if (server.tools.length > 0) blocks.push('import { tool } from "../../runtime.js";');
  for (let at = 0; at < server.tools.length; at += BATCH) {
    const batch = server.tools.slice(at, at + BATCH);
    blocks.push(...(await printTools(server, batch, names, warnings)));
  }
  blocks.push(...printMethods(server, names));
  if (server.tools.length === 0) blocks.push("export {};");
  return { text: `${blocks.join("\n\n")}\n`, warnings };
}

/** Prints some tools together, which is faster. If that fails, prints each separately. */
async function printTools(
  server: ServerModel,
  tools: readonly ToolModel[],
  names: ReadonlyMap<ToolModel, TypeNames>,
  warnings: Warning[],
): Promise<string[]> {
  const namesOf = (tool: ToolModel): TypeNames => names.get(tool) ?? new Map();
  try {
    const declarations = tools.map((tool) => declareTypes(tool, namesOf(tool)));
    const texts = await printTypes(declarations.flat(), DOCUMENTED);
    return tools.flatMap((tool, i) => {
      const own = declarations[i] ?? [];
      return [...printDeclarations(own, texts.splice(0, own.length)), printFunction(tool, namesOf(tool))];
    });
  } catch {
    const [only, another] = tools;
    if (only === undefined) return [];
    if (another !== undefined) {
      const blocks: string[] = [];
      for (const tool of tools) blocks.push(...(await printTools(server, [tool], names, warnings)));
      return blocks;
    }
    const untyped = withoutTypes(only);
    const message = "its types cannot be printed; they are any";
    warnings.push({ server: server.name, tool: only.definition.name, message });
    const own = declareTypes(untyped, namesOf(only));
    return [
      ...printDeclarations(own, await printTypes(own, DOCUMENTED)),
      printFunction(untyped, namesOf(only)),
    ];
  }
}

function printHeader(server: ServerModel): string {
  const lines = [
    `Tools of the MCP server ${quoteString(server.name)}. Written by \`ptc generate\`: edits are lost.`,
  ];
  return blockComment([server.description ?? "", ...lines].join("\n").trim()).join("\n");
}

function printFunction(tool: ToolModel, names: TypeNames): string {
  const note = observedNote(tool);
  const undeclared = tool.output === undefined ? ["@returns any: this tool declares no output schema"] : [];
  const unwrapped = tool.isUnwrapped === true ? [`@returns ${UNWRAPPED_NOTE}`] : [];
  const facts = note === undefined ? [...undeclared, ...unwrapped] : [`@returns ${note}`];
  const declaration = printToolDeclaration({
    identifier: tool.identifier,
    input: names.get("input") ?? "never",
    output: tool.output === undefined ? "any" : (names.get("output") ?? "never"),
    namespacedName: tool.namespacedName,
    observedCalls: tool.observedCalls,
    isUnwrapped: tool.isUnwrapped,
  });
  return [...blockComment(tool.description ?? "", facts), declaration].join("\n");
}

function declareTypes(tool: ToolModel, names: TypeNames): Declaration[] {
  const declareModel = (model: TypeModel, role: "input" | "output"): Declaration[] => {
    const named = definitionNames(model, role, names);
    const any = role === "input" ? ("unknown" as const) : ("any" as const);
    const declare = (name: string, type: TypeNode, documentation: Documentation): Declaration => ({
      name,
      type,
      documentation,
      names: named,
      any,
    });
    const root = declare(names.get(role) ?? "never", model.root, model.documentation);
    return [
      ...(model.root.kind === "reference" ? [] : [root]),
      ...[...model.definitions].map(([name, { type, documentation }]) =>
        declare(named.get(name) ?? "never", type, documentation),
      ),
    ];
  };
  return [
    ...declareModel(tool.input, "input"),
    ...(tool.output === undefined ? [] : declareModel(tool.output, "output")),
  ];
}

function printDeclarations(declarations: readonly Declaration[], texts: readonly string[]): string[] {
  return declarations.map(({ name, type, documentation }, i) => {
    const text = texts[i] ?? "never";
    const declaration = type.kind === "object" ? `interface ${name} ${text}` : `type ${name} = ${text};`;
    return [...DOCUMENTED.describe(documentation), `export ${declaration}`].join("\n");
  });
}
