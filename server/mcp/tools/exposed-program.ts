import { isObject, jsonLine } from "../../../base/json.ts";
import type { Envelope } from "../../../protocol/envelope.ts";
import type { ExposedProgram } from "../../../tools/exposed-programs.ts";
import { errorReply, type ProgramReply } from "./reply.ts";

/** The definition of a saved program as a tool of its own, in the form of `tools/list`. */
export function defineExposed({ name, description, inputSchema, outputSchema }: ExposedProgram) {
  return {
    name,
    description,
    inputSchema: { ...inputSchema, type: "object" as const },
    ...(isObjectSchema(outputSchema) ? { outputSchema } : {}),
  };
}

/** The reply to a call of a saved program: its value alone, as its schema promises it; a failure as any program's. */
export async function presentExposed(reply: ProgramReply, program: ExposedProgram): Promise<ProgramReply> {
  const { _meta: meta, content } = reply;
  const envelope = meta?.["ptc/envelope"] as Envelope | undefined;
  if (reply.isError === true) return reply;
  // A tool with an output schema has a value or fails. What waits for an approval has no value yet.
  if (envelope?.result.ok !== true)
    return isObjectSchema(program.outputSchema) ? { ...reply, isError: true } : reply;
  const { data } = envelope.result;
  const problem = await program.checkValue(data);
  if (problem !== undefined)
    return {
      ...errorReply(`${program.name} gave a value that its output schema does not allow: ${problem}`),
      _meta: { "ptc/envelope": envelope },
    };
  const text = typeof data === "string" ? data : jsonLine(data);
  return {
    content: [{ type: "text", text }, ...content.slice(1)],
    ...(isObjectSchema(program.outputSchema) && isObject(data) ? { structuredContent: data } : {}),
    _meta: { "ptc/envelope": envelope },
  };
}

function isObjectSchema(
  schema: Readonly<Record<string, unknown>> | undefined,
): schema is { type: "object"; [key: string]: unknown } {
  return schema?.type === "object";
}
