/** ptc's tools for LangChain and LangGraph (`@langchain/core`). */
import { ToolMessage } from "@langchain/core/messages";
import { type StructuredToolInterface, type ToolRunnableConfig, tool } from "@langchain/core/tools";
import { isObject } from "../../base/json.ts";
import type { CallOptions, ContentBlock, PendingApproval, Ptc, RunEvent } from "../api.ts";
import { answerQuestion, askedByGoingOn, describeQuestion, questionOf } from "./waiting.ts";

/**
 * ptc's tools for `createAgent({ tools })`, and for graphs. Aborting the `signal` of a call cancels the program. The model reads why
 * a program failed, in a message whose status is `error`; the artifact of a message is the `Run`. Events of runs go to those who stream with
 * `streamMode: "custom"`.
 *
 * A program whose call needs an approval, and that nobody else is asked about, waits. When the model lets it go on, a graph with a
 * checkpointer is interrupted, with the request and the decisions of LangChain's own `humanInTheLoopMiddleware`:
 * `new Command({ resume: { decisions: [{ type: "approve" }] } })` allows the call; any other decision denies it, and the program goes
 * on with that.
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
        const canInterrupt = config.configurable?.__pregel_checkpointer !== undefined;
        const question = canInterrupt ? await questionOf(ptc, name, args, options) : undefined;
        if (question !== undefined) await answerQuestion(ptc, question, await ask(question), options);
        const replied = await execute(args, { onEvent, signal: AbortSignal.any(signals) });
        const reply = canInterrupt ? askedByGoingOn(replied) : replied;
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

/** Interrupts the graph. For the decision, LangGraph calls the tool again, which runs up to here. */
async function ask(question: PendingApproval): Promise<{ allow: boolean; by: string; reason?: string }> {
  const { interrupt } = await import("@langchain/langgraph");
  const { tool: name, arguments: args } = question.question;
  const resumed: unknown = interrupt({
    actionRequests: [{ name, args, description: describeQuestion(question) }],
    reviewConfigs: [{ actionName: name, allowedDecisions: ["approve", "reject"] }],
  });
  const [decision]: unknown[] =
    isObject(resumed) && Array.isArray(resumed.decisions) ? resumed.decisions : [];
  const { type, message } = isObject(decision) ? decision : {};
  return {
    allow: type === "approve",
    by: "LangGraph",
    ...(typeof message === "string" ? { reason: message } : {}),
  };
}

/** The text, followed by images and audio. */
function contentOf(text: string, content: readonly ContentBlock[]) {
  const files = content.flatMap((block) =>
    block.type === "image" || block.type === "audio"
      ? [{ type: block.type, data: block.data, mimeType: block.mimeType }]
      : [],
  );
  return files.length === 0 ? text : [{ type: "text" as const, text }, ...files];
}
