/** ptc's tools for the AI SDK (`ai`). */
import { jsonSchema, type ToolSet, tool } from "ai";
import type { CallOptions, Ptc, RunEvent, ToolReply } from "../api.ts";

/** What a tool gives the AI SDK. While a program runs, `progress` says what it does, as a preliminary result. */
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
        async *execute(input, { abortSignal }) {
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
          yield await reply;
        },
        toModelOutput: ({ output }) => modelOutput(output),
      }),
    ]),
  );
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

/** What an event of a run says to a person who waits; `undefined` for nothing. */
function describeEvent(event: RunEvent): string | undefined {
  switch (event.kind) {
    case "call-started":
      return `calls ${event.tool}`;
    case "question-asked":
      return `asks whether ${event.tool} may be called`;
    case "console":
      return event.text.trimEnd() || undefined;
    default:
      return undefined;
  }
}

/** Hands on what is pushed, until some work is done. */
class EventQueue<T> {
  readonly #waiting: T[] = [];
  #wake = () => {};

  push(event: T): void {
    this.#waiting.push(event);
    this.#wake();
  }

  /** Yields what is pushed until the work has settled. What the work throws is left to whoever awaits it. */
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
