import type { Tool } from "../catalog/tool.ts";
import type { ToolPrinter } from "./language-printer.ts";

const NO_OUTPUT_SCHEMA =
  "No output schema defined by the upstream server. Inspect the return value in your script.";

/** Describes a tool for models and people: how a program calls it, and its schemas as the server listed them. */
export async function describeTool(tool: Tool, printer: ToolPrinter): Promise<Record<string, unknown>> {
  const { namespacedName, module, description, inputSchema, outputSchema } = tool;
  return {
    name: namespacedName,
    description: description ?? null,
    import: printer.importLine(module),
    signature: await printer.signature(tool, "full"),
    inputSchema,
    outputSchema: outputSchema ?? null,
    ...(outputSchema === undefined ? { note: NO_OUTPUT_SCHEMA } : {}),
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
  };
}
