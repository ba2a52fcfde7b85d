import { NameAllocator } from "../../catalog/identifiers.ts";
import { groupEqualDefinitions } from "../../catalog/model/equal-definitions.ts";
import type { Definition, Documentation, TypeModel, TypeNode } from "../../catalog/model/type-model.ts";
import type { Warning } from "../../catalog/parse-tool.ts";
import { type ServerModel, type ToolModel, toolSides, withoutTypes } from "../../catalog/tool-model.ts";
import { observedNote, UNWRAPPED_NOTE } from "../describe-tool.ts";
import { blockComment, quoteString } from "../escape.ts";
import {
  DOCUMENTED,
  definitionNames,
  dependsOnSide,
  nameTypes,
  type PrintRequest,
  printTypes,
  type TypeNames,
} from "./print-types.ts";
import { printToolDeclaration } from "./read-module.ts";

/** The number of tools whose types are printed at once, large enough to save time and small enough to bound memory. */
const BATCH = 100;

/** A type that a module declares, before it is printed. */
interface Declaration extends PrintRequest {
  name: string;
  documentation: Documentation;
  /** Shared by equal types of the module that may be aliases of each other. */
  group?: number | undefined;
}

/** The types of a module. */
interface ModuleTypes {
  names: ReadonlyMap<ToolModel, TypeNames>;
  groups: ReadonlyMap<Definition, number>;
  /** The name of the first printed type of each group. */
  printed: Map<number, string>;
}

/** Prints `servers/<server_module>/index.ts`. A tool whose types cannot be printed takes and returns any. */
export async function printServerModule(server: ServerModel): Promise<{ text: string; warnings: Warning[] }> {
  const warnings: Warning[] = [];
  const names = nameTypes(server.tools);
  const groups = groupEqualDefinitions(toolSides(server.tools), dependsOnSide);
  const types: ModuleTypes = { names, groups, printed: new Map() };
  const blocks: string[] = [printHeader(server)];
  if (server.tools.length > 0) blocks.push('import { tool } from "../../runtime.js";');
  for (let at = 0; at < server.tools.length; at += BATCH) {
    const batch = server.tools.slice(at, at + BATCH);
    blocks.push(...(await printTools(server, batch, types, warnings)));
  }
  blocks.push(...printMethods(server, names));
  if (server.tools.length === 0) blocks.push("export {};");
  return { text: `${blocks.join("\n\n")}\n`, warnings };
}

/** Prints some tools together, which is faster. If that fails, prints each separately. */
async function printTools(
  server: ServerModel,
  tools: readonly ToolModel[],
  types: ModuleTypes,
  warnings: Warning[],
): Promise<string[]> {
  const { groups, printed } = types;
  const namesOf = (tool: ToolModel): TypeNames => types.names.get(tool) ?? new Map();
  try {
    const declarations = tools.map((tool) => declareTypes(tool, namesOf(tool), groups));
    const texts = await printTypes(declarations.flat(), DOCUMENTED);
    return tools.flatMap((tool, i) => {
      const own = declarations[i] ?? [];
      const ownTexts = texts.splice(0, own.length);
      return [...printDeclarations(own, ownTexts, printed), printFunction(tool, namesOf(tool))];
    });
  } catch {
    const [only, another] = tools;
    if (only === undefined) return [];
    if (another !== undefined) {
      const blocks: string[] = [];
      for (const tool of tools) blocks.push(...(await printTools(server, [tool], types, warnings)));
      return blocks;
    }
    const untyped = withoutTypes(only);
    const message = "its types cannot be printed; they are any";
    warnings.push({ server: server.name, tool: only.definition.name, message });
    const own = declareTypes(untyped, namesOf(only), groups);
    return [
      ...printDeclarations(own, await printTypes(own, DOCUMENTED), printed),
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

function declareTypes(
  tool: ToolModel,
  names: TypeNames,
  groups: ReadonlyMap<Definition, number>,
): Declaration[] {
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
      ...[...model.definitions].map(([name, definition]) => ({
        ...declare(named.get(name) ?? "never", definition.type, definition.documentation),
        // The message for a mistake names the tool by the type of its arguments, so tools never share that type.
        group: named.get(name) === names.get("input") ? undefined : groups.get(definition),
      })),
    ];
  };
  return [
    ...declareModel(tool.input, "input"),
    ...(tool.output === undefined ? [] : declareModel(tool.output, "output")),
  ];
}

/** Declares types. Equal types after the first one become aliases, because programs may import their names. */
function printDeclarations(
  declarations: readonly Declaration[],
  texts: readonly string[],
  printed: Map<number, string>,
): string[] {
  return declarations.map(({ name, type, documentation, group }, i) => {
    const equal = group === undefined ? undefined : printed.get(group);
    if (equal !== undefined) return `export type ${name} = ${equal};`;
    if (group !== undefined) printed.set(group, name);
    const text = texts[i] ?? "never";
    const declaration = type.kind === "object" ? `interface ${name} ${text}` : `type ${name} = ${text};`;
    return [...DOCUMENTED.describe(documentation), `export ${declaration}`].join("\n");
  });
}

/** A member through which a module offers a method, in addition to the function with an object of arguments. */
interface Shorthand {
  object: "resources" | "prompts";
  member: string;
  parameters: string;
  args: string;
  description: string;
}

const SHORTHANDS: Readonly<Record<string, Shorthand>> = {
  "resources/list": {
    object: "resources",
    member: "list",
    parameters: "",
    args: "{}",
    description: "All resources, and templates of URIs.",
  },
  "resources/read": {
    object: "resources",
    member: "read",
    parameters: "uri: string",
    args: "{ uri }",
    description: "The contents of one resource.",
  },
  "prompts/get": {
    object: "prompts",
    member: "get",
    parameters: "name: string, args?: Record<string, string>",
    args: "args === undefined ? { name } : { name, arguments: args }",
    description: "The messages of one prompt.",
  },
  "prompts/list": {
    object: "prompts",
    member: "list",
    parameters: "",
    args: "{}",
    description: "All prompts, and their arguments.",
  },
};

/**
 * Prints `resources` and `prompts` of a module if its server has them. If a tool has that name, the object gets another name. The
 * members call methods by name, so that they work whichever functions a program may call.
 */
function printMethods(server: ServerModel, names: ReadonlyMap<ToolModel, TypeNames>): string[] {
  const methods = server.tools.flatMap((tool) => {
    const { method } = tool.definition;
    const shorthand =
      method !== undefined && Object.hasOwn(SHORTHANDS, method) ? SHORTHANDS[method] : undefined;
    return shorthand === undefined ? [] : [{ tool, shorthand }];
  });
  const allocator = new NameAllocator(server.tools.map(({ identifier }) => identifier));
  return (["resources", "prompts"] as const).flatMap((object) => {
    const own = methods.filter(({ shorthand }) => shorthand.object === object);
    if (own.length === 0) return [];
    const members = own.flatMap(({ tool, shorthand: { member, parameters, args, description } }) => {
      const types = `${names.get(tool)?.get("input") ?? "any"}, ${names.get(tool)?.get("output") ?? "any"}`;
      return [
        `  /** ${description} */`,
        `  ${member}: (${parameters}) => tool<${types}>(${quoteString(tool.namespacedName)})(${args}),`,
      ];
    });
    const name = allocator.allocate(object, `${object} of the server`);
    return [[`export const ${name} = {`, ...members, "};"].join("\n")];
  });
}
