import { jsonLine } from "../../../base/json/json-line.ts";
import { visibleLines } from "../../../base/text/visible-text.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { unknownTool } from "../../../catalog/unknown-names.ts";
import { describeTool } from "../../../codegen/describe-tool.ts";
import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { InspectToolArguments } from "./tool-arguments.ts";

/** Answers `inspect_tool`: as JSON what the server says of a tool, or its signature and nothing else. */
export async function answerInspectTool(
  { tool_name, format }: InspectToolArguments,
  catalog: ToolCatalog,
  printer: ToolPrinter,
): Promise<ToolReply> {
  const tool = catalog.find(tool_name);
  if (tool === undefined) return errorReply(unknownTool(tool_name, catalog));
  if (format === "schema") return textReply(jsonLine(describeTool(tool)));
  return textReply(visibleLines(await printer.signature(tool, "full")));
}
