import { jsonLine } from "../../../base/json/json-line.ts";
import { visibleLines } from "../../../base/text/visible-text.ts";
import { type ToolCatalog, unknownTool } from "../../../catalog/tool-catalog.ts";
import { describeTool } from "../../../codegen/describe-tool.ts";
import { chosenPrinter, type ShownLanguages, whyOff } from "./chosen-language.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { InspectToolArguments } from "./tool-arguments.ts";

/** Answers `inspect_tool`: as JSON what the server says of a tool, or its signature and nothing else. */
export async function answerInspectTool(
  { tool_name, format, language }: InspectToolArguments,
  catalog: ToolCatalog,
  printers: ShownLanguages,
): Promise<ToolReply> {
  const off = whyOff(language, printers);
  if (off !== undefined) return errorReply(off);
  const tool = catalog.find(tool_name);
  if (tool === undefined) return errorReply(unknownTool(tool_name, catalog));
  if (format === "schema") return textReply(jsonLine(describeTool(tool)));
  return textReply(visibleLines(await chosenPrinter(language, printers).signature(tool, "full")));
}
