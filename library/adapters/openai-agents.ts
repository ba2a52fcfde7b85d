/** ptc's tools for the OpenAI Agents SDK (`@openai/agents`). */
import { type FunctionTool, tool } from "@openai/agents";
import type { CallOptions, ContentBlock, Ptc } from "../api.ts";
import { answerQuestion, askedByGoingOn, questionOf } from "./waiting.ts";

/**
 * ptc's tools for `new Agent({ tools })`. Aborting the run's `signal` cancels the program. The model reads why a program failed.
 *
 * A program whose call needs an approval, and that nobody else is asked about, waits. When the model lets it go on, the run is
 * interrupted: `approvals` of the ptc has the question under the ticket in the interruption's arguments, and `state.approve` allows
 * that call. After `state.reject` nothing is called, and the program waits until it expires.
 *
 * @param options for whom, and who is asked. What is left out is as `createPtc` was given it.
 */
export function ptcTools(ptc: Ptc, options: CallOptions = {}): FunctionTool[] {
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
      needsApproval: async (_, args) => (await questionOf(ptc, name, args, options)) !== undefined,
      async execute(args, context, details) {
        const callId = details?.toolCall?.callId;
        const question = await questionOf(ptc, name, args, options);
        if (question && callId && context?.isToolApproved({ toolName: name, callId }) === true)
          await answerQuestion(ptc, question, { allow: true, by: "OpenAI Agents SDK" }, options);
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
