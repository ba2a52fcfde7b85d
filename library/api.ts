/**
 * The public API of the library. It imports only the types of the settings, so that a user's editor shows this page.
 * docs/versions.md says how declarations here and in the adapters may change.
 */

import type { PtcConfig } from "./config.ts";

export type { PtcConfig };

/** Any JSON Schema (2020-12), as an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * A schema of zod, valibot, arktype or any other library of the Standard Schema interface, version 1. Its JSON Schema comes
 * by the Standard JSON Schema interface, which zod (4.2) and arktype (2.1.28) have, and valibot's `toStandardJsonSchema` adds.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
      readonly output: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

/** The outcome of validating a value with a schema of the Standard Schema interface. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** A schema of a function's arguments or result. */
export type Schema = StandardSchema<never, unknown> | StandardSchema | JsonSchema;

/** The type of the arguments that a function receives, from its `input`. */
export type OutputOf<S> = S extends {
  readonly "~standard": { readonly types?: { readonly output: infer O } | undefined };
}
  ? O
  : Record<string, unknown>;

/** The type of the value that a function returns, from its `output`. */
export type InputOf<S> = S extends {
  readonly "~standard": { readonly types?: { readonly input: infer I } | undefined };
}
  ? I
  : unknown;

/** The second argument of a function: the context of the call. */
export interface ToolContext {
  /** The subject of the principal on whose behalf the program runs. */
  readonly principal: string;
  /** Aborts when nobody waits for the answer any more: the run was cancelled, or the call timed out. */
  readonly signal: AbortSignal;
  /** Reports the progress of the call to those who follow the run. */
  readonly onProgress: (report: { progress: number; total?: number; message?: string }) => void;
}

/** A function of your program, as a tool. */
export interface ToolDefinition<Input extends Schema, Output extends Schema> {
  /** What models and people read. */
  readonly description: string;
  readonly title?: string;
  /** The arguments, as an object; none by default. */
  readonly input?: Input;
  /** The result. Without it, programs get `any`. */
  readonly output?: Output;
  /** As MCP defines them. A tool without annotations counts as one that may change something; by default, nobody is asked about it. */
  readonly annotations?: {
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint?: boolean;
  };
  /** The labels of its results, as `labels` of a server. */
  readonly labels?: readonly string[];
  /** Which labels may flow into it, as `accepts` of a server; by default all. */
  readonly accepts?: readonly string[];
  /** The time limit of a call in milliseconds; by default `execution.tool_call_timeout_seconds`. */
  readonly timeoutMs?: number;
  /**
   * Does the work. ptc validates the arguments with `input` and the result with `output`, and turns the result into JSON. An error that
   * it throws becomes a `ToolError` in the program, which reads the message.
   */
  readonly execute: (
    input: OutputOf<Input>,
    context: ToolContext,
  ) => InputOf<Output> | Promise<InputOf<Output>>;
}

/** A function of your program, made by `tool`. */
export interface FunctionTool {
  readonly description: string;
  readonly title?: string | undefined;
  readonly input?: Schema | undefined;
  readonly output?: Schema | undefined;
  readonly annotations?: Readonly<Record<string, boolean | undefined>> | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly accepts?: readonly string[] | undefined;
  readonly timeoutMs?: number | undefined;
  readonly execute: (input: never, context: ToolContext) => unknown;
}

/**
 * A tool of another SDK, which ptc uses as it is: of the AI SDK (`tool` of `ai`), of LangChain (`tool` of `@langchain/core/tools`) or of the
 * OpenAI Agents SDK (`tool` of `@openai/agents`). Where its SDK would ask its user before a call, ptc asks.
 */
export type SdkTool = AiSdkTool | LangChainTool | OpenAiAgentsTool;

/** A tool of the AI SDK. It needs `execute`. The last value that it yields is its result. */
export interface AiSdkTool {
  readonly inputSchema: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's types depend on its schemas.
  readonly execute?: ((input: any, options: any) => unknown) | undefined;
}

/** A structured tool of LangChain. */
export interface LangChainTool {
  readonly name: string;
  readonly schema: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's types depend on its schemas.
  invoke(input: any, config?: any): Promise<unknown>;
}

/** A function tool of the OpenAI Agents SDK, without guardrails. */
export interface OpenAiAgentsTool {
  readonly type: "function";
  readonly parameters: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's types depend on its schemas.
  readonly invoke: (context: any, input: string, details?: any) => Promise<unknown>;
}

/** On whose behalf programs run. Policy, credentials, approvals, audit and archive depend on it. A string is a subject without groups. */
export type Principal = string | { readonly subject: string; readonly groups?: readonly string[] };

/** A call that policy wants a person to decide. It holds no secrets. */
export interface ApprovalQuestion {
  readonly runId: string;
  /** `mcp__<server>__<tool>`. */
  readonly tool: string;
  readonly arguments: unknown;
  /** Why a person is asked, if a rule says so. */
  readonly reason?: string | undefined;
  /** Where its values come from: a line for each argument whose origin is known. */
  readonly origins?: readonly string[] | undefined;
  /** Whether somebody was asked about this tool earlier in this run. */
  readonly isAgain: boolean;
  /** What the program will change from this call on, with `approvals.mode: plan`. */
  readonly plan?: Plan | undefined;
  /** Why a plan that was approved does not cover the call. */
  readonly differs?: string | undefined;
}

/** What a program will change: its calls in order. */
export interface Plan {
  /** Identifies the plan. */
  readonly digest: string;
  readonly calls: readonly PlannedCall[];
  /** Why more calls may follow; absent if the program makes only these. Any other call needs an answer of its own. */
  readonly more?: string | undefined;
}

/** A call that a program will make and that may change something. */
export interface PlannedCall {
  /** From 1. */
  readonly number: number;
  /** `mcp__<server>__<tool>`. */
  readonly tool: string;
  /** A text in angle brackets stands for a value that is not known yet. */
  readonly arguments: unknown;
  /** Whether an answer to the question can approve it: it needs an approval, and its values are known or come from earlier calls. */
  readonly isApprovable: boolean;
  /** Whether an answer can defer it to a question of its own, because one of its values comes from a later read. */
  readonly isKeepable: boolean;
  /** Further facts, one line each: where values come from that are not known yet, and whether the call needs an approval. */
  readonly notes: readonly string[];
}

/** The answer to a question. */
export interface ApprovalAnswer {
  readonly allow: boolean;
  /** `run` allows further calls of the tool in this run too; `plan` the calls of the plan, or this one if the question has none; `call`, the default, this one. */
  readonly for?: "call" | "run" | "plan";
  /** With `for: "plan"`: the numbers of the calls that are allowed; all by default. The others are denied. */
  readonly calls?: readonly number[];
  /** With `for: "plan"`: the numbers of calls with values from later reads that are asked about again once these are known. */
  readonly keep?: readonly number[];
  /** With `for: "run"`: how many calls at most, this one among them. */
  readonly atMost?: number;
  /** Who answered, for the audit log. */
  readonly by?: string;
  /** Why the call is denied. The program reads it. */
  readonly reason?: string;
}

/**
 * Decides about one call. `"later"`, and an error, leave the question open: the run is suspended, and waits under a ticket until
 * somebody answers. `signal` aborts when the answer is no longer wanted.
 */
export type Approve = (
  question: ApprovalQuestion,
  signal: AbortSignal,
) => ApprovalAnswer | "later" | Promise<ApprovalAnswer | "later">;

/** A question that a configured server asks a person during a call (elicitation). `message` quotes the server's texts, without secrets. */
export type Elicitation = {
  readonly runId: string;
  /** The configured name of the server. */
  readonly server: string;
  /** The tool whose call asks, as `mcp__<server>__<tool>`, if known. */
  readonly tool?: string | undefined;
  /** What a person reads: who asks, and the server's text, each line of it marked. */
  readonly message: string;
} & (
  | {
      readonly mode: "form";
      /** The fields of the form, as MCP defines them (2025-11-25, "Requested Schema"). */
      readonly requestedSchema: {
        readonly type: "object";
        readonly properties: Readonly<Record<string, JsonSchema>>;
        readonly required?: readonly string[] | undefined;
      };
    }
  | { readonly mode: "url"; readonly url: string }
);

/** A person's answer, as MCP defines it. `content` has the values of a form's fields. */
export type ElicitationAnswer =
  | {
      readonly action: "accept";
      readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
    }
  | { readonly action: "decline" | "cancel" };

/**
 * Answers what a server asks during a call. Values that do not fit the form, and an error, fail the call. `signal` aborts
 * when the answer is no longer wanted.
 */
export type OnElicit = (
  elicitation: Elicitation,
  signal: AbortSignal,
) => ElicitationAnswer | Promise<ElicitationAnswer>;

/** An event of a run. It holds no secrets, no arguments and no results. */
export type RunEvent = { readonly runId: string } & (
  | { readonly kind: "started" }
  | { readonly kind: "call-started"; readonly seq: number; readonly tool: string }
  | {
      readonly kind: "call-ended";
      readonly seq: number;
      readonly tool: string;
      readonly durationMs: number;
      /** The type of the call's failure; absent when it succeeded. */
      readonly failure?: string | undefined;
    }
  | { readonly kind: "question-asked"; readonly tool: string }
  | { readonly kind: "question-answered"; readonly tool: string; readonly decision: string }
  | { readonly kind: "elicitation-asked"; readonly server: string }
  | { readonly kind: "elicitation-answered"; readonly server: string; readonly action: string }
  | { readonly kind: "console"; readonly stream: "out" | "err"; readonly text: string }
  | {
      readonly kind: "ended";
      readonly outcome: string;
      readonly durationMs: number;
      readonly toolCalls: number;
    }
);

/** For whom ptc acts, who is asked, and who follows. Omitted members are those of `createPtc`. */
export interface CallOptions {
  readonly principal?: Principal;
  readonly approve?: Approve;
  /** Answers what servers ask during calls. Without it, a call whose server asks something fails. */
  readonly onElicit?: OnElicit;
  /**
   * The conversation with a model that it belongs to. If data is labelled, the labels that a model has seen belong to its
   * conversation. By default, a principal has one conversation.
   */
  readonly conversation?: string;
  /** What the user has said in it, in the user's own words and not in the model's. */
  readonly said?: string | readonly string[];
  /** Cancels it: ptc kills the sandbox and cancels the calls in progress. */
  readonly signal?: AbortSignal;
  /** Receives its events, a few milliseconds late. If it is slow or fails, the run continues. */
  readonly onEvent?: (event: RunEvent) => void;
  /** The trace that it belongs to (W3C Trace Context, `traceparent`). */
  readonly traceparent?: string;
}

/** How a program is run. */
export interface RunOptions extends CallOptions {
  /** What the program sees as `data`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** `typescript`, `javascript` or `python`, as far as `languages` has them; by default the first. */
  readonly language?: string;
  /** Milliseconds; by default `execution.timeout_seconds`. */
  readonly timeoutMs?: number;
  /** By default `execution.typecheck`. */
  readonly typecheck?: "error" | "warn" | "off";
  /** The session that it runs in, where `sessions` are on. */
  readonly session?: string;
}

/** How a program is rehearsed. */
export type PlanOptions = Omit<RunOptions, "session" | "approve" | "onElicit" | "onEvent">;

/** The report of a run, one line of JSON that the host seals. */
export interface Envelope {
  readonly run_id: string;
  readonly trace_id: string;
  readonly tool_name: string;
  readonly tool_version: string;
  readonly input_digest: string;
  readonly output_digest: string;
  readonly sandbox_image: string | null;
  /** The engine, if it isolates programs less than a kernel of their own does. */
  readonly sandbox_engine?: "wasm" | undefined;
  readonly duration_ms: number;
  readonly approval_state: "NOT_REQUIRED" | "APPROVED" | "DENIED";
  readonly result:
    | { readonly ok: true; readonly data: unknown; readonly metrics: Metrics }
    | { readonly ok: false; readonly error: RunFailure; readonly metrics: Metrics };
}

/** What the host counted while a program ran. */
export interface Metrics {
  readonly duration_ms: number;
  readonly tool_calls: number;
  readonly tool_result_bytes: number;
}

/** Why a run failed. `type` is one of a closed set, such as `ScriptError` or `Timeout`. */
export interface RunFailure {
  readonly type: string;
  readonly message: string;
  readonly retryable: boolean;
}

/** A content block, as MCP defines it (2025-11-25, "Tool Result"). */
export type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }
  | {
      readonly type: "resource";
      readonly resource: {
        readonly uri: string;
        readonly mimeType?: string | undefined;
        readonly text?: string;
        readonly blob?: string;
      };
    }
  | {
      readonly type: "resource_link";
      readonly uri: string;
      readonly name: string;
      readonly title?: string | undefined;
      readonly description?: string | undefined;
      readonly mimeType?: string | undefined;
    };

/** One call of a program that has ended. */
export interface RunCall {
  /** Its number within the run, from 1, in the order of starting. */
  readonly seq: number;
  readonly tool: string;
  readonly arguments: unknown;
  readonly durationMs: number;
  readonly ok: boolean;
  /** The decision about it, such as `allowed`, `approved-once` or `denied`. */
  readonly decision: string;
  /** Why it failed. */
  readonly error?: RunFailure | undefined;
}

/** What a program would do, as far as its rehearsal shows. */
export type Planned =
  /** It would change nothing. */
  | { readonly kind: "unchanged" }
  /** It would change something. */
  | { readonly kind: "changes"; readonly plan: Plan }
  /** Its rehearsal failed before any change. */
  | { readonly kind: "failed"; readonly error: RunFailure };

/** A run that waits for an approval. */
export interface Waiting {
  /** What `resume` takes. */
  readonly ticket: string;
  readonly tool: string;
  readonly expiresAt: Date;
}

/** The outcome of a program. */
export interface Run {
  /** Whether it succeeded. */
  readonly ok: boolean;
  /** Its value; `undefined` where it failed or waits. */
  readonly value: unknown;
  /** Why it failed; `undefined` where it succeeded. `ApprovalPending` where it waits. */
  readonly error: RunFailure | undefined;
  readonly envelope: Envelope;
  /** The text that a model reads about it. */
  readonly text: string;
  /** What the program emitted. */
  readonly emitted: readonly ContentBlock[];
  /** In the order in which they ended. */
  readonly calls: readonly RunCall[];
  /** Present where it waits for an approval. */
  readonly waiting?: Waiting | undefined;
}

/** A question that waits for an answer. */
export interface PendingApproval extends Waiting {
  readonly question: ApprovalQuestion;
  readonly askedAt: Date;
  readonly isAnswered: boolean;
}

/** What a model receives for a call of one of ptc's tools. */
export interface ToolReply {
  readonly text: string;
  /** The text, and what a program emitted. */
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  /** Of a program. */
  readonly run?: Run | undefined;
  /** Present if its program waits for an approval. */
  readonly waiting?: Waiting | undefined;
}

/** One of ptc's tools for models: its definition and its function. */
export interface PtcTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
  /** Calls it with a model's arguments, which it checks. Never rejects because of a mistake of the model. */
  execute(args: unknown, options?: CallOptions): Promise<ToolReply>;
}

/** The outcome of a replay. */
export interface Replay {
  /** Whether the program did exactly the same. */
  readonly same: boolean;
  /** How it differs, in one line. */
  readonly divergence?: string | undefined;
  readonly envelope: Envelope;
}

/** The options of `createPtc`. All are optional. */
export interface PtcOptions extends Pick<CallOptions, "principal" | "approve" | "onElicit"> {
  /**
   * The path of a `ptc.yaml`, whose edits take effect while ptc runs, or its content as an object. Without it, there are
   * no servers, and every setting has its default.
   */
  readonly config?: string | PtcConfig;
  /**
   * Functions of your program that programs can call, as `mcp__functions__<name>` and in the module `servers/functions`; also as tools
   * of other SDKs.
   */
  readonly tools?: Readonly<Record<string, FunctionTool | SdkTool>>;
  /** Receives failures that belong to no run, one line each. By default, they are process warnings. */
  readonly onWarning?: (message: string) => void;
  /** The folder that relative paths, `.ptc` and its archive start from, unless `config` is a file; by default the working directory. */
  readonly cwd?: string;
  /** Where variables are expanded from; by default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** An open ptc. Several in one process are independent. */
export interface Ptc extends AsyncDisposable {
  /**
   * Runs a program. Failures of the program, of a server and of the sandbox are in the result.
   *
   * @throws PtcError if the program or an option cannot be used, or too many programs run already.
   */
  run(code: string, options?: RunOptions): Promise<Run>;
  /**
   * Rehearses a program, whatever `approvals.mode` says: it makes the calls that only read, changes nothing, and asks nobody. The
   * archive does not record it; the audit log records its calls and marks them.
   *
   * @throws PtcError as `run` does.
   */
  plan(code: string, options?: PlanOptions): Promise<Planned>;
  /**
   * Continues a run that waits, once its question is answered: by `answer`, by `approve`, or earlier. It does not repeat calls that
   * it has made.
   *
   * @throws PtcError `no_ticket` where nothing waits under it, `unanswered`, `answered` where `answer` comes too late.
   */
  resume(ticket: string, options?: CallOptions & { readonly answer?: ApprovalAnswer }): Promise<Run>;
  /** The questions that wait, the oldest first. They outlive the process. @throws PtcError */
  approvals(options?: Pick<CallOptions, "principal">): Promise<readonly PendingApproval[]>;
  /** Answers a question and does not continue the run. @throws PtcError as `resume` does. */
  answer(ticket: string, answer: ApprovalAnswer, options?: Pick<CallOptions, "principal">): Promise<void>;
  /**
   * Runs a recorded run again, without calling anything.
   *
   * @param run its id, or the beginning of its id or of a digest of its envelope.
   * @throws PtcError where there is no such run, or it cannot be replayed.
   */
  replay(run: string, options?: Pick<CallOptions, "signal">): Promise<Replay>;
  /**
   * ptc's tools for models: `execute_program`, `search_tools`, `inspect_tool`, `list_callable_tools`, `read_output`, and more as
   * configured. Their definitions are those of when it was opened, so that what a model has in its context stays. Of another principal
   * than that of `createPtc`, it has the tools that everybody has, and once `listTools` has looked, those that this principal may call.
   */
  tools(options?: CallOptions): readonly PtcTool[];
  /**
   * The tools of `tools`, with those that the principal of `options` may call directly. They are looked up the first time for each
   * principal, and stay as they are.
   */
  listTools(options?: CallOptions): Promise<readonly PtcTool[]>;
  /** Instructions for a model, to put once into its system prompt. */
  readonly instructions: string;
  /** Cancels runs in progress, and ends sandboxes, servers and everything else that is open. */
  close(): Promise<void>;
}

/** Why an operation failed. */
export type PtcErrorCode =
  /** The configuration, a tool, a program or an option cannot be used. */
  | "invalid"
  /** The limit of running and waiting programs is reached. */
  | "busy"
  /** This machine can start no sandbox. */
  | "no_sandbox"
  /** Nothing waits under this ticket. */
  | "no_ticket"
  /** Nobody has answered its question yet. */
  | "unanswered"
  /** Its question was answered before. */
  | "answered"
  /** A run is not in the archive, or cannot be replayed; or the archive cannot be used. */
  | "archive"
  /** This ptc was closed. */
  | "closed";

/** A failed operation. The message is one line that says what is wrong, where, and what to do. It holds no secrets. */
export class PtcError extends Error {
  override readonly name = "PtcError";
  readonly code: PtcErrorCode;

  constructor(code: PtcErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Makes a function of your program a tool. The types of its arguments and its result come from the schemas; with a JSON Schema,
 * they are unknown.
 */
export function tool<Input extends Schema = JsonSchema, Output extends Schema = JsonSchema>(
  definition: ToolDefinition<Input, Output>,
): FunctionTool {
  return definition;
}
