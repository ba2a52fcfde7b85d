import { NameAllocator, pascalCase } from "../../catalog/identifiers.ts";
import { groupEqualDefinitions } from "../../catalog/model/equal-definitions.ts";
import type { Definition, TypeModel } from "../../catalog/model/type-model.ts";
import type { Warning } from "../../catalog/server-listing.ts";
import { type ServerModel, type ToolModel, toolSides, withoutTypes } from "../../catalog/tool-model.ts";
import { printFunction } from "./print-function.ts";
import { printMethodObjects } from "./print-method-objects.ts";
import { functionName } from "./python-names.ts";
import { docstring, pythonString } from "./python-text.ts";
import { EqualTypes } from "./types/equal-types.ts";
import { type DeclaredType, dependsOnSide, PythonTypes } from "./types/python-types.ts";
import { nameToolTypes, type ToolTypeNames, takenNames } from "./types/type-scope.ts";

/** The names that stubs import, and from where. */
const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "collections.abc": ["Mapping", "Sequence"],
  typing: ["Any", "Literal", "Never", "NotRequired", "TypedDict", "overload"],
};

/** Declarations of a module that belong together: of a definition, with the types that only it has, or of anything else. */
interface Part {
  definition?: Definition;
  declared: DeclaredType[];
}

/** The text of `servers/<server_module>/__init__.pyi`. A tool whose types cannot be printed takes and returns anything. */
export function printPythonModule(server: ServerModel): { text: string; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const functions = new Map(
    server.tools.map((tool) => [tool, functionName(tool.definition.name, tool.identifier)]),
  );
  const allocator = new NameAllocator(takenNames([...functions.values()]));
  const names = nameToolTypes(server.tools, allocator);
  const groups = groupEqualDefinitions(toolSides(server.tools), dependsOnSide);
  const equal = new EqualTypes(
    server.tools.flatMap((tool) =>
      (["input", "output"] as const).flatMap((role) =>
        [...(tool[role]?.definitions ?? [])].flatMap(([each, definition]) => {
          const name = names.get(tool)?.definitions.get(`${role} ${each}`);
          const group = groups.get(definition);
          return name === undefined || group === undefined ? [] : [{ name, group }];
        }),
      ),
    ),
  );
  const blocks = server.tools.flatMap((tool) => {
    const name = functions.get(tool) ?? tool.identifier;
    const own = names.get(tool) ?? { input: `${pascalCase(name)}Input`, definitions: new Map() };
    const print = (printed: ToolModel): string[] => {
      const { types, declaration } = printTool(printed, name, own, allocator);
      const declared = types.flatMap(({ definition, declared }) =>
        equal.print(declared, definition && groups.get(definition)),
      );
      return [...declared, declaration];
    };
    try {
      return print(tool);
    } catch {
      const message = "its types cannot be printed; they are Any";
      warnings.push({ server: server.name, tool: tool.definition.name, message });
      return print(withoutTypes(tool));
    }
  });
  blocks.push(...printMethodObjects(server, functions, names));
  const body = blocks.join("\n\n");
  return {
    text: `${[...printHeader(server), ...printImports(body), body].join("\n\n").trimEnd()}\n`,
    warnings,
  };
}

function printTool(
  tool: ToolModel,
  name: string,
  names: ToolTypeNames,
  allocator: NameAllocator,
): { types: Part[]; declaration: string } {
  const typesOf = (role: "input" | "output", model: TypeModel): PythonTypes =>
    new PythonTypes({
      model,
      isInput: role === "input",
      allocator,
      names: new Map(
        [...model.definitions.keys()].map((each) => [
          each,
          names.definitions.get(`${role} ${each}`) ?? "Any",
        ]),
      ),
    });
  const parts: Part[] = [];
  const input = typesOf("input", tool.input);
  for (const [key, definition] of tool.input.definitions) {
    input.declare(names.definitions.get(`input ${key}`) ?? "Never", definition);
    parts.push({ definition, declared: input.takeDeclarations() });
  }
  let returns = "Any";
  if (tool.output !== undefined && names.output !== undefined) {
    const { root, documentation } = tool.output;
    const output = typesOf("output", tool.output);
    if (root.kind !== "reference") {
      output.declare(names.output, { type: root, documentation });
      parts.push({ declared: output.takeDeclarations() });
    }
    returns = names.output;
    for (const [key, definition] of tool.output.definitions) {
      output.declare(names.definitions.get(`output ${key}`) ?? "Never", definition);
      parts.push({ definition, declared: output.takeDeclarations() });
    }
  }
  const declaration = printFunction({ tool, name, types: input, inputName: names.input, returns });
  parts.push({ declared: input.takeDeclarations() });
  return { types: parts, declaration };
}

function printHeader(server: ServerModel): string[] {
  const line = `Tools of the MCP server ${pythonString(server.name)}. Written by \`ptc generate\`: edits are lost.`;
  return [docstring([server.description ?? "", line].join("\n").trim()).join("\n")];
}

function printImports(body: string): string[] {
  const code = body.replace(/"""[\s\S]*?(?<!\\)"""|"(?:[^"\\\n]|\\.)*"|#.*/g, "");
  const lines = Object.entries(IMPORTS).flatMap(([module, names]) => {
    const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(code));
    return used.length === 0 ? [] : [`from ${module} import ${used.join(", ")}`];
  });
  return lines.length === 0 ? [] : [lines.join("\n")];
}
