import { jsonLine } from "../../../base/json/json-line.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { unknownTool } from "../../../catalog/unknown-names.ts";
import { describeTool } from "../../../codegen/describe-tool.ts";
import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { InspectToolArguments } from "./tool-arguments.ts";

/** Answers `inspect_tool` with JSON. */
export async function answerInspectTool(
  { tool_name }: InspectToolArguments,
  catalog: ToolCatalog,
  printer: ToolPrinter,
): Promise<ToolReply> {
  const tool = catalog.find(tool_name);
  if (tool === undefined) return errorReply(unknownTool(tool_name, catalog));
  return textReply(jsonLine(await describeTool(tool, printer)));
}
