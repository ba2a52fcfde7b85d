import { errorReply } from "../tools/reply.ts";
import { ExecuteProgramArguments, parseArguments } from "../tools/tool-arguments.ts";
import type { ProgramAnswer, ProgramRequest, Programs } from "./programs.ts";

/**
 * Starts the program of a call of `execute_program`.
 *
 * @param whyNot why one with these arguments cannot be run just now.
 */
export async function startProgram(
  args: unknown,
  programs: Programs,
  whyNot: (parsed: ExecuteProgramArguments) => string | undefined,
  request: ProgramRequest,
): Promise<ProgramAnswer> {
  const parsed = parseArguments(ExecuteProgramArguments, args);
  if (!parsed.ok) return { kind: "reply", reply: errorReply(parsed.message) };
  const refused = whyNot(parsed.value);
  if (refused !== undefined) return { kind: "reply", reply: errorReply(refused) };
  return programs.start(parsed.value, request);
}
