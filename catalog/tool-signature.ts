import { parseTool } from "../codegen/parse-tool.ts";
import { printCompactSignature, printToolSignature } from "../codegen/print-signature.ts";
import { buildToolModel } from "../codegen/tool-model.ts";
import type { DirectoryTool } from "./tool-directory.ts";

/** The TypeScript signature of a tool's function: with every description, or in one line with the first sentence of its own. */
export async function toolSignature(tool: DirectoryTool, form: "full" | "compact"): Promise<string> {
  const definition = parseTool(tool);
  if (definition === undefined) return `${tool.identifier}(args:object)`;
  const model = buildToolModel(definition, tool.module, tool.identifier);
  return form === "full" ? printToolSignature(model) : printCompactSignature(model);
}
