/** ptc's tools for the AI SDK (`ai`). */
import { jsonSchema, type ModelMessage, type ToolApprovalStatus, type ToolSet, tool } from "ai";
import type { CallOptions, Ptc, RunEvent, ToolReply } from "../api.ts";
import { answerQuestion, askedByGoingOn, describeQuestion, questionOf } from "./waiting.ts";

const BY = "AI SDK";

/** The output of a tool for the AI SDK. While a program runs, a preliminary result reports what it does in `progress`. */
export interface PtcToolOutput extends Partial<ToolReply> {
  readonly progress?: string;
}

/**
 * ptc's tools, by name, for `generateText`, `streamText` and agents. Aborting their `abortSignal` cancels the program. A failed
 * program is a result that says so, which the model reads as an error.
 *
 * @param options for whom, and who is asked. What is left out is as `createPtc` was given it.
 */
export function ptcTools(ptc: Ptc, options: CallOptions = {}): ToolSet {
  return Object.fromEntries(
    ptc.tools(options).map(({ name, title, description, inputSchema, execute }) => [
      name,
      tool<unknown, PtcToolOutput, Record<string, unknown>>({
        ...(title === undefined ? {} : { title }),
        description,
        inputSchema: jsonSchema(inputSchema),
        async *execute(input, { abortSignal, messages, toolCallId }) {
          await denyRejected(ptc, messages, options);
          const question = await questionOf(ptc, name, input, options);
          // The user approved nothing that was not shown.
          if (question !== undefined && approvedReason(messages, toolCallId) === describeQuestion(question))
            await answerQuestion(ptc, question, { allow: true, by: BY }, options);
          const events = new EventQueue<RunEvent>();
          const onEvent = (event: RunEvent) => {
            options.onEvent?.(event);
            events.push(event);
          };
          const signals = [abortSignal, options.signal].filter((signal) => signal !== undefined);
          const reply = execute(input, { onEvent, signal: AbortSignal.any(signals) });
          for await (const event of events.until(reply)) {
            const progress = describeEvent(event);
            if (progress !== undefined) yield { progress };
          }
          yield askedByGoingOn(await reply);
        },
        toModelOutput: ({ output }) => modelOutput(output),
      }),
    ]),
  );
}

/**
 * The `toolApproval` of `generateText`, `streamText` and agents that have `ptcTools`. A program whose call needs an approval, and
 * that nobody else is asked about, waits. When the model lets it go on, the SDK asks its user, and `reason` of the request says which
 * call with which arguments a yes allows. After a no nothing is called. The next call of one of ptc's tools in that conversation answers
 * the question with it, and a program that goes on reads it.
 *
 * @param options as those of `ptcTools`.
 */
export function ptcApproval(
  ptc: Ptc,
  options: Pick<CallOptions, "principal"> = {},
): {
  execute_program: (
    input: unknown,
    call: { readonly messages: readonly ModelMessage[] },
  ) => Promise<ToolApprovalStatus>;
} {
  return {
    async execute_program(input, { messages }) {
      await denyRejected(ptc, messages, options);
      const question = await questionOf(ptc, "execute_program", input, options);
      return question && { type: "user-approval", reason: describeQuestion(question) };
    },
  };
}

/** What the user saw before approving this tool call; `undefined` if nobody has approved it. */
function approvedReason(messages: readonly ModelMessage[], toolCallId: string): string | undefined {
  return decided(messages).find(
    ({ request, response }) => request.toolCallId === toolCallId && response.approved,
  )?.request.reason;
}

/** Answers the questions that the user denied. After a denial, the SDK calls nothing and puts the denial into the messages that follow. */
async function denyRejected(
  ptc: Ptc,
  messages: readonly ModelMessage[],
  options: Pick<CallOptions, "principal">,
): Promise<void> {
  const parts = messages.flatMap(({ role, content }) =>
    role === "assistant" && typeof content !== "string" ? content : [],
  );
  for (const { request, response } of decided(messages)) {
    if (response.approved) continue;
    const call = parts.find((part) => part.type === "tool-call" && part.toolCallId === request.toolCallId);
    if (call?.type !== "tool-call") continue;
    const question = await questionOf(ptc, call.toolName, call.input, options);
    if (question === undefined) continue;
    const { reason } = response;
    const no = { allow: false, by: BY, ...(reason === undefined ? {} : { reason }) };
    await answerQuestion(ptc, question, no, options);
  }
}

/** The requests for approval that the user has answered, in order. */
function decided(messages: readonly ModelMessage[]) {
  const responses = messages
    .flatMap(({ role, content }) => (role === "tool" ? content : []))
    .flatMap((part) => (part.type === "tool-approval-response" ? [part] : []));
  return messages
    .flatMap(({ role, content }) => (role === "assistant" && typeof content !== "string" ? content : []))
    .flatMap((part) => (part.type === "tool-approval-request" ? [part] : []))
    .flatMap((request) => {
      const response = responses.find(({ approvalId }) => approvalId === request.approvalId);
      return response === undefined ? [] : [{ request, response }];
    });
}

function modelOutput({ text = "", content = [], isError }: PtcToolOutput) {
  if (isError) return { type: "error-text" as const, value: text };
  const files = content.flatMap((block) =>
    block.type === "image" || block.type === "audio"
      ? {
          type: "file" as const,
          data: { type: "data" as const, data: block.data },
          mediaType: block.mimeType,
        }
      : [],
  );
  if (files.length === 0) return { type: "text" as const, value: text };
  return { type: "content" as const, value: [{ type: "text" as const, text }, ...files] };
}

/** One line about an event of a run, for a person who waits; `undefined` if the event is not worth a line. */
function describeEvent(event: RunEvent): string | undefined {
  switch (event.kind) {
    case "call-started":
      return `calls ${event.tool}`;
    case "question-asked":
      return `asks whether ${event.tool} may be called`;
    case "elicitation-asked":
      return `waits for an answer to server '${event.server}'`;
    case "console":
      return event.text.trimEnd() || undefined;
    default:
      return undefined;
  }
}

/** An async queue that ends when some work ends. */
class EventQueue<T> {
  readonly #waiting: T[] = [];
  #wake = () => {};

  push(event: T): void {
    this.#waiting.push(event);
    this.#wake();
  }

  /** Yields the pushed values until the work settles. An error of the work is thrown where the work is awaited, not here. */
  async *until(work: Promise<unknown>): AsyncGenerator<T, void> {
    let isDone = false;
    const done = work.then(
      () => {},
      () => {},
    );
    void done.then(() => {
      isDone = true;
      this.#wake();
    });
    for (;;) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) yield next;
      if (isDone) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (isDone || this.#waiting.length > 0) resolve();
      });
    }
  }
}
