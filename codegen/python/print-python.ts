import { NameAllocator, pascalCase } from "../../catalog/identifiers.ts";
import type { TypeModel } from "../../catalog/model/type-model.ts";
import type { Warning } from "../../catalog/server-listing.ts";
import { type ServerModel, type ToolModel, withoutTypes } from "../../catalog/tool-model.ts";
import { printFunction } from "./print-function.ts";
import { printMethodObjects } from "./print-method-objects.ts";
import { functionName } from "./python-names.ts";
import { docstring, pythonString } from "./python-text.ts";
import { PythonTypes } from "./types/python-types.ts";
import { nameToolTypes, type ToolTypeNames, takenNames } from "./types/type-scope.ts";

/** The names that stubs import, and from where. */
const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "collections.abc": ["Mapping", "Sequence"],
  typing: ["Any", "Literal", "Never", "NotRequired", "TypedDict", "overload"],
};

/** The text of `servers/<server_module>/__init__.pyi`. A tool whose types cannot be printed takes and returns anything. */
export function printPythonModule(server: ServerModel): { text: string; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const functions = new Map(
    server.tools.map((tool) => [tool, functionName(tool.definition.name, tool.identifier)]),
  );
  const allocator = new NameAllocator(takenNames([...functions.values()]));
  const names = nameToolTypes(server.tools, allocator);
  const blocks = server.tools.flatMap((tool) => {
    const name = functions.get(tool) ?? tool.identifier;
    const own = names.get(tool) ?? { input: `${pascalCase(name)}Input`, definitions: new Map() };
    try {
      return printTool(tool, name, own, allocator);
    } catch {
      const message = "its types cannot be printed; they are Any";
      warnings.push({ server: server.name, tool: tool.definition.name, message });
      return printTool(withoutTypes(tool), name, own, allocator);
    }
  });
  blocks.push(...printMethodObjects(server, functions, names));
  const body = blocks.join("\n\n");
  return {
    text: `${[...printHeader(server), ...printImports(body), body].join("\n\n").trimEnd()}\n`,
    warnings,
  };
}

function printTool(tool: ToolModel, name: string, names: ToolTypeNames, allocator: NameAllocator): string[] {
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
  const blocks: string[] = [];
  const input = typesOf("input", tool.input);
  for (const [definition, value] of tool.input.definitions) {
    input.declare(names.definitions.get(`input ${definition}`) ?? "Never", value);
    blocks.push(...input.takeDeclarations());
  }
  let returns = "Any";
  if (tool.output !== undefined && names.output !== undefined) {
    const { root, documentation } = tool.output;
    const output = typesOf("output", tool.output);
    if (root.kind !== "reference") {
      output.declare(names.output, { type: root, documentation });
      blocks.push(...output.takeDeclarations());
    }
    returns = names.output;
    for (const [definition, value] of tool.output.definitions) {
      output.declare(names.definitions.get(`output ${definition}`) ?? "Never", value);
      blocks.push(...output.takeDeclarations());
    }
  }
  const declared = printFunction({ tool, name, types: input, inputName: names.input, returns });
  return [...blocks, ...input.takeDeclarations(), declared];
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
