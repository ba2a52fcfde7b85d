/** ptc's tools for the OpenAI Agents SDK (`@openai/agents`). */
import { type FunctionTool, tool } from "@openai/agents";
import type { CallOptions, ContentBlock, Ptc } from "../api.ts";

/**
 * ptc's tools for `new Agent({ tools })`. Aborting the run's `signal` cancels the program. The model reads why a program failed.
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
      async execute(args, _context, details) {
        const signals = [details?.signal, options.signal].filter((signal) => signal !== undefined);
        const { text, content } = await execute(args, { signal: AbortSignal.any(signals) });
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
