/** ptc's tools for LangChain and LangGraph (`@langchain/core`). */
import { ToolMessage } from "@langchain/core/messages";
import { type StructuredToolInterface, type ToolRunnableConfig, tool } from "@langchain/core/tools";
import type { CallOptions, ContentBlock, Ptc, RunEvent } from "../api.ts";

/**
 * ptc's tools for `createAgent({ tools })`, and for graphs. Aborting the `signal` of a call cancels the program. The model reads why
 * a program failed, in a message whose status is `error`; the artifact of a message is the `Run`. Events of runs go to those who stream with
 * `streamMode: "custom"`.
 *
 * @param options for whom, and who is asked. What is left out is as `createPtc` was given it.
 */
export function ptcTools(ptc: Ptc, options: CallOptions = {}): StructuredToolInterface[] {
  return ptc.tools(options).map(({ name, description, inputSchema, execute }) =>
    tool(
      async (args: unknown, config: ToolRunnableConfig & { writer?: ((chunk: unknown) => void) | null }) => {
        const onEvent = (event: RunEvent) => {
          options.onEvent?.(event);
          config.writer?.(event);
        };
        const signals = [config.signal, options.signal].filter((signal) => signal !== undefined);
        const reply = await execute(args, { onEvent, signal: AbortSignal.any(signals) });
        return new ToolMessage({
          name,
          tool_call_id: config.toolCall?.id ?? "",
          status: reply.isError ? "error" : "success",
          content: contentOf(reply.text, reply.content),
          artifact: reply.run,
        });
      },
      { name, description, schema: { ...inputSchema, type: "object" as const } },
    ),
  ) as StructuredToolInterface[];
}

/** The text, with what is an image or a sound after it. */
function contentOf(text: string, content: readonly ContentBlock[]) {
  const files = content.flatMap((block) =>
    block.type === "image" || block.type === "audio"
      ? [{ type: block.type, data: block.data, mimeType: block.mimeType }]
      : [],
  );
  return files.length === 0 ? text : [{ type: "text" as const, text }, ...files];
}
