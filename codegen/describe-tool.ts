import type { Tool } from "../catalog/tool.ts";
import type { ToolPrinter } from "./language-printer.ts";
import { observedNote } from "./observed-note.ts";

const NO_OUTPUT_SCHEMA =
  "No output schema defined by the upstream server. Inspect the return value in your script.";

const UNWRAPPED =
  "The function returns what is under `result` in this outputSchema: its server wraps each value that is no object, and ptc unwraps it.";

function noteOn({ learned }: Tool): string {
  const note = observedNote({ observedCalls: learned?.calls });
  return note === undefined
    ? NO_OUTPUT_SCHEMA
    : `No output schema defined by the upstream server. The result is ${note}.`;
}

/** Describes a tool as its server listed it: its description and its schemas. */
export function describeTool(tool: Tool): Record<string, unknown> {
  const { namespacedName, description, inputSchema, outputSchema } = tool;
  return {
    name: namespacedName,
    description: description ?? null,
    inputSchema,
    outputSchema: outputSchema ?? null,
    ...(outputSchema === undefined ? { note: noteOn(tool) } : {}),
    ...(tool.unwraps === true ? { note: UNWRAPPED } : {}),
  };
}

/** Like `describeTool`, with how a program calls the tool and what the server says of its effects. */
export async function describeForPrograms(
  tool: Tool,
  printer: ToolPrinter,
): Promise<Record<string, unknown>> {
  const { name, description, ...schemas } = describeTool(tool);
  return {
    name,
    description,
    import: printer.importLine(tool.module),
    signature: await printer.signature(tool, "full"),
    ...schemas,
    ...(tool.annotations === undefined ? {} : { annotations: tool.annotations }),
  };
}
