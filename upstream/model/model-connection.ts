import { inTime } from "../../base/in-time.ts";
import { isObject } from "../../base/json/is-object.ts";
import { EXTRACT_TOOL } from "../../protocol/tools/extract-tool.ts";
import type { UpstreamCallOptions, UpstreamConnection } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";
import { askEndpoint } from "./ask-endpoint.ts";
import { type FailedAnswer, MODEL_APIS, type ModelQuestion } from "./model-api.ts";
import { ANSWER_MEMBER, readRequestedSchema } from "./requested-schema.ts";

export interface ModelConnectionOptions {
  /** The address that is asked. */
  url: string;
  model: string;
  api: keyof typeof MODEL_APIS;
  /** What holds the key. */
  headers: Readonly<Record<string, string>>;
  /** The most bytes of one text that is sent. */
  maxInputBytes: number;
  version: string;
  /** What one question is asked without. */
  withhold: () => Promise<Withheld>;
  /** What is wrong with a value, in words that follow `the value`; `undefined` for nothing. */
  findMisfit: (schema: unknown, value: unknown) => Promise<string | undefined>;
  onClose: () => Promise<void>;
}

/** What a model is not shown of one question. */
export interface Withheld {
  /** Takes secrets out of what is sent, and personal data, for which a mark stands. */
  redact(value: unknown): unknown;
  /** Puts back into an answer what marks in it stand for. What the program gave is nothing new to it. */
  restore(value: unknown): unknown;
  /** Whether there are such marks. */
  hasMarks(): boolean;
}

/** The tool as servers list theirs (MCP 2025-11-25, "Tool"). */
const DEFINITION = {
  name: EXTRACT_TOOL,
  description:
    "Coerces text to data of a type through a model. Programs call it as extract(value, type). What a model says is checked " +
    "against the type, not for its truth.",
  inputSchema: {
    type: "object",
    properties: {
      value: { description: "The text, or other data, which is given as JSON." },
      schema: { type: "object", description: "The JSON Schema of the result." },
    },
    required: ["value", "schema"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
};

/** A model behind an endpoint, as a server with one tool. An answer that does not fit is repaired once. */
export class ModelConnection implements UpstreamConnection {
  readonly implementation: UpstreamConnection["implementation"];
  readonly protocolVersion = "2025-11-25";
  readonly #options: ModelConnectionOptions;
  readonly #closed = new AbortController();

  constructor(options: ModelConnectionOptions) {
    this.#options = options;
    this.implementation = { name: "ptc extract", version: options.version };
  }

  async listTools(): Promise<unknown[]> {
    return [DEFINITION];
  }

  async callTool(
    tool: string,
    args: unknown,
    { signal, timeoutMs, spentMs = 0 }: UpstreamCallOptions,
  ): Promise<unknown> {
    if (tool !== EXTRACT_TOOL || !isObject(args)) return failed(`there is no tool '${tool}'`);
    const { maxInputBytes, model } = this.#options;
    const requested = readRequestedSchema(args.schema);
    if (!requested.ok) return failed(requested.problem);
    const withheld = await this.#options.withhold();
    const value = withheld.redact(args.value);
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const bytes = Buffer.byteLength(text);
    if (bytes > maxInputBytes)
      return failed(`the value is ${bytes} bytes, and at most ${maxInputBytes} are sent to a model; cut it`);
    const schema = withheld.redact(requested.wrapped) as Record<string, unknown>;
    const late = new AbortController();
    const both = AbortSignal.any([signal, this.#closed.signal, late.signal]);
    const question = { model, text, schema, isStrict: requested.isStrict, hasMarks: withheld.hasMarks() };
    const asking = this.#ask(question, args.schema, withheld, both);
    try {
      return await inTime(asking, timeoutMs - spentMs, () => {
        const error = new UpstreamError(
          "call_timeout",
          `the model gave no answer within ${timeoutMs / 1_000} s`,
        );
        late.abort(error);
        asking.catch(() => {});
        return error;
      });
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      if (both.aborted)
        throw new UpstreamError("cancelled", "the model was not waited for: the call is cancelled");
      throw error;
    }
  }

  onToolsChanged(): void {
    // Its one tool is always the same.
  }

  onLost(): void {
    // Each call makes a request of its own.
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#options.onClose();
  }

  async #ask(
    question: ModelQuestion,
    schema: unknown,
    withheld: Withheld,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { url, headers, model, findMisfit } = this.#options;
    const api = MODEL_APIS[this.#options.api];
    const used = { model, requests: 0, input_tokens: 0, output_tokens: 0 };
    let failure: FailedAnswer | undefined;
    let last = "";
    for (let requests = 1; requests <= 2; requests++) {
      const request = api.buildRequest(question, failure);
      const answer = api.readAnswer(await askEndpoint(url, { ...api.headers, ...headers }, request, signal));
      if (answer === undefined)
        throw new UpstreamError(
          "protocol_error",
          `the model at ${new URL(url).host} does not speak ${this.#options.api}'s API`,
        );
      used.requests = requests;
      used.input_tokens += answer.inputTokens;
      used.output_tokens += answer.outputTokens;
      const { content, said } = answer;
      if (!content.ok && content.isFinal) return failed(content.problem, used);
      const given = content.ok && isObject(content.value) ? content.value[ANSWER_MEMBER] : undefined;
      const value = given === undefined ? undefined : withheld.restore(given);
      let problem = content.ok ? `it has no member "${ANSWER_MEMBER}"` : content.problem;
      if (value !== undefined) {
        const misfit = await findMisfit(schema, value);
        if (misfit === undefined)
          return { content: [], structuredContent: value, _meta: { "ptc/extract": used } };
        problem = misfit;
      }
      failure = { said, problem: String(withheld.redact(problem)) };
      last = problem;
    }
    return failed(`the model's answer does not fit the type, even after a repair: ${last}`, used);
  }
}

/** The result of a tool that has failed. @param used what was asked all the same. */
function failed(text: string, used?: object): unknown {
  return {
    isError: true,
    content: [{ type: "text", text }],
    ...(used === undefined ? {} : { _meta: { "ptc/extract": used } }),
  };
}
