/** ptc's tools for the OpenAI Agents SDK (`@openai/agents`). */
import { type FunctionTool, type RunContext, tool } from "@openai/agents";
import type { CallOptions, ContentBlock, Ptc } from "../api.ts";
import { answerQuestion, askedByGoingOn, questionOf } from "./waiting.ts";

const BY = "OpenAI Agents SDK";
/** The most questions for which this adapter looks for a rejection. */
const MAX_ASKED = 1_000;

/**
 * ptc's tools for `new Agent({ tools })`. Aborting the run's `signal` cancels the program. The model reads why a program failed.
 *
 * A program whose call needs an approval, and that nobody else is asked about, waits. When the model lets it go on, the run is
 * interrupted: `approvals` of the ptc has the question under the ticket in the interruption's arguments, and `state.approve` allows
 * that call. After `state.reject` nothing is called. The next call of one of these tools answers the question with that no, and a
 * program that goes on reads it.
 *
 * @param options for whom, and who is asked. What is left out is as `createPtc` was given it.
 */
export function ptcTools(ptc: Ptc, options: CallOptions = {}): FunctionTool[] {
  const asked = new Map<string, { context: RunContext; callId: string }>();

  /** Answers questions whose calls were rejected. The SDK reports no rejection; it keeps rejections in the context of its run. */
  async function denyRejected(current: RunContext): Promise<void> {
    for (const [ticket, { context: own, callId }] of asked) {
      const call = { toolName: "execute_program", callId };
      const context = [own, current].find((each) => each.isToolApproved(call) === false);
      if (context === undefined) continue;
      asked.delete(ticket);
      const reason = context.getRejectionMessage(call.toolName, callId);
      const no = { allow: false, by: BY, ...(reason === undefined ? {} : { reason }) };
      await answerQuestion(ptc, { ticket }, no, options);
    }
  }

  return ptc.tools(options).map(({ name, description, inputSchema, execute }) =>
    tool({
      name,
      description,
      parameters: {
        required: [],
        properties: {},
        ...inputSchema,
        type: "object",
        additionalProperties: true,
      },
      strict: false,
      async needsApproval(context, args, callId) {
        await denyRejected(context);
        const question = await questionOf(ptc, name, args, options);
        if (question === undefined) return false;
        const [oldest] = asked.size < MAX_ASKED ? [] : asked.keys();
        if (oldest !== undefined) asked.delete(oldest);
        if (callId !== undefined) asked.set(question.ticket, { context, callId });
        return true;
      },
      async execute(args, context, details) {
        const callId = details?.toolCall?.callId;
        const question = await questionOf(ptc, name, args, options);
        if (question && callId && context?.isToolApproved({ toolName: name, callId }) === true)
          await answerQuestion(ptc, question, { allow: true, by: BY }, options);
        const signals = [details?.signal, options.signal].filter((signal) => signal !== undefined);
        const reply = await execute(args, { signal: AbortSignal.any(signals) });
        const { text, content } = askedByGoingOn(reply);
        const images = content.flatMap(imageOf);
        return images.length === 0 ? text : [{ type: "text" as const, text }, ...images];
      },
    }),
  ) as FunctionTool[];
}

function imageOf(block: ContentBlock) {
  if (block.type !== "image") return [];
  return [{ type: "image" as const, image: { data: block.data, mediaType: block.mimeType } }];
}
