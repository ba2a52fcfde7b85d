import type { DirectoryTool } from "../catalog/tool-directory.ts";
import { toolSignature } from "../catalog/tool-signature.ts";
import { unknownTool } from "./hints.ts";
import type { CatalogView } from "./live-catalog.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { InspectToolArguments } from "./tool-arguments.ts";

const NO_OUTPUT_SCHEMA =
  "No output schema defined by the upstream server. Inspect the return value in your script.";

/** Answers `inspect_tool`, as JSON. */
export async function inspectTool(
  { tool_name }: InspectToolArguments,
  view: CatalogView,
): Promise<ToolReply> {
  const tool = view.directory.find(tool_name);
  if (tool === undefined) return errorReply(unknownTool(tool_name, view));
  return textReply(JSON.stringify(await describeTool(tool)));
}

/** A tool as models and people read about it. */
export async function describeTool(tool: DirectoryTool): Promise<Record<string, unknown>> {
  const { namespacedName, module, description, inputSchema, outputSchema } = tool;
  return {
    name: namespacedName,
    description: description ?? null,
    import: `import * as ${module} from "./servers/${module}/index.js";`,
    signature: await toolSignature(tool, "full"),
    inputSchema,
    outputSchema: outputSchema ?? null,
    ...(outputSchema === undefined ? { note: NO_OUTPUT_SCHEMA } : {}),
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
  };
}
