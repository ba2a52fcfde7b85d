import { parseTool } from "../../catalog/parse-tool.ts";
import { buildToolModel } from "../../catalog/tool-model.ts";
import type { ShownTool } from "../language-printer.ts";
import { printCompactSignature, printToolSignature } from "./print-signature.ts";

/** The TypeScript signature of a tool's function: with every description, or in one line with the first sentence of its own. */
export async function toolSignature(tool: ShownTool, form: "full" | "compact"): Promise<string> {
  const definition = parseTool(tool);
  if (definition === undefined) return `${tool.identifier}(args:object)`;
  const { module, identifier, learned, unwraps = false } = tool;
  const model = buildToolModel(definition, module, identifier, undefined, learned, unwraps);
  return form === "full" ? printToolSignature(model) : printCompactSignature(model);
}
