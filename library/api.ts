/**
 * What is public of the library. It refers to no other file but the types of the settings: what a user's editor shows is this page.
 * What is declared here, and in the adapters, changes as docs/versions.md says.
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

/** What a schema of the Standard Schema interface says of a value. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** What describes arguments and results of functions. */
export type Schema = StandardSchema<never, unknown> | StandardSchema | JsonSchema;

/** What a function gets of a value that its `input` describes. */
export type OutputOf<S> = S extends {
  readonly "~standard": { readonly types?: { readonly output: infer O } | undefined };
}
  ? O
  : Record<string, unknown>;

/** What a function returns of a value that its `output` describes. */
export type InputOf<S> = S extends {
  readonly "~standard": { readonly types?: { readonly input: infer I } | undefined };
}
  ? I
  : unknown;

/** What a function is called with beside its arguments. */
export interface ToolContext {
  /** The subject of the principal on whose behalf the program runs. */
  readonly principal: string;
  /** Aborts when nobody waits for the answer any more: the run was cancelled, or the time of the call is over. */
  readonly signal: AbortSignal;
  /** Tells those who follow the run how far the call has come. */
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
  /** As MCP has them. A tool that says nothing counts as one that may change something, and is not asked about by default. */
  readonly annotations?: {
    readonly readOnlyHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly openWorldHint?: boolean;
  };
  /** What its results carry, as `labels` of a server. */
  readonly labels?: readonly string[];
  /** Which labels may flow into it, as `accepts` of a server; by default all. */
  readonly accepts?: readonly string[];
  /** Milliseconds that one call may take; by default `execution.tool_call_timeout_seconds`. */
  readonly timeoutMs?: number;
  /**
   * Does the work. Its arguments have passed `input`, and what it returns passes `output` and becomes JSON. What it throws is a
   * `ToolError` in the program, which reads the message.
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
 * A tool of another SDK, which is taken as it is: of the AI SDK (`tool` of `ai`), of LangChain (`tool` of `@langchain/core/tools`) or of the
 * OpenAI Agents SDK (`tool` of `@openai/agents`). Where its SDK would ask its user before a call, ptc asks.
 */
export type SdkTool = AiSdkTool | LangChainTool | OpenAiAgentsTool;

/** A tool of the AI SDK. It needs `execute`. What it yields last is its result. */
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

/** On whose behalf programs run: policy, credentials, approvals, audit and archive go by it. A text is a subject without groups. */
export type Principal = string | { readonly subject: string; readonly groups?: readonly string[] };

/** A call that policy wants a person to decide. It holds no secrets. */
export interface ApprovalQuestion {
  readonly runId: string;
  /** `mcp__<server>__<tool>`. */
  readonly tool: string;
  readonly arguments: unknown;
  /** Why it is asked about, where a rule says so. */
  readonly reason?: string | undefined;
  /** Where its values come from, a line for each argument of which that is known. */
  readonly origins?: readonly string[] | undefined;
  /** Whether this tool was asked about in this run before. */
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
  /** Why more calls may follow; absent where the program makes these and no other. Whatever else it calls is asked about. */
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
  /** What else is known of it, in lines: where values come from that are not known yet, and whether it needs an approval. */
  readonly notes: readonly string[];
}

/** The answer to a question. */
export interface ApprovalAnswer {
  readonly allow: boolean;
  /** `run` allows further calls of the tool in this run too; `plan` the calls of the plan, or this one if the question has none; `call`, the default, this one. */
  readonly for?: "call" | "run" | "plan";
  /** With `for: "plan"`: the numbers of the calls that are allowed; all by default. The others are denied. */
  readonly calls?: readonly number[];
  /** With `for: "run"`: how many calls at most, this one among them. */
  readonly atMost?: number;
  /** Who answered, for the audit log. */
  readonly by?: string;
  /** Why it is not allowed. The program reads it. */
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

/** What a server of the configuration asks a person in the middle of a call. Its own texts are quoted in `message`, and hold no secrets. */
export type Elicitation = {
  readonly runId: string;
  /** The configured name of the server. */
  readonly server: string;
  /** The tool during whose call it asks, as `mcp__<server>__<tool>`, where that is known. */
  readonly tool?: string | undefined;
  /** What a person reads: who asks, and the server's text, each line of it marked. */
  readonly message: string;
} & (
  | {
      readonly mode: "form";
      /** The fields of the form, as MCP has them (2025-11-25, "Requested Schema"). */
      readonly requestedSchema: {
        readonly type: "object";
        readonly properties: Readonly<Record<string, JsonSchema>>;
        readonly required?: readonly string[] | undefined;
      };
    }
  | { readonly mode: "url"; readonly url: string }
);

/** What a person has answered, as MCP has it. `content` has the values of a form's fields. */
export type ElicitationAnswer =
  | {
      readonly action: "accept";
      readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
    }
  | { readonly action: "decline" | "cancel" };

/**
 * Answers what a server asks in the middle of a call. Values that do not fit the form, and an error, fail the call. `signal` aborts
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

/** For whom something is done, who is asked, and who follows it. What is left out is as `createPtc` was given it. */
export interface CallOptions {
  readonly principal?: Principal;
  readonly approve?: Approve;
  /** Answers what servers ask. Without it, a call whose server asks something fails. */
  readonly onElicit?: OnElicit;
  /**
   * The conversation with a model that it belongs to. Where data is labelled, what a model was shown stays with its
   * conversation; by default a principal has one.
   */
  readonly conversation?: string;
  /** What the user has said in it, in the user's own words and not in the model's. */
  readonly said?: string | readonly string[];
  /** Cancels it: the sandbox is killed, and calls in progress are called off. */
  readonly signal?: AbortSignal;
  /** Follows it, a few milliseconds behind. It may be slow or fail: the run goes on. */
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

/** The line that reports a run, sealed by the host. */
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

/** A block of content, as MCP has them (2025-11-25, "Tool Result"). */
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
  /** Its number within the run, from 1, in the order in which calls began. */
  readonly seq: number;
  readonly tool: string;
  readonly arguments: unknown;
  readonly durationMs: number;
  readonly ok: boolean;
  /** What was decided about it, such as `allowed`, `approved-once` or `denied`. */
  readonly decision: string;
  /** Why it failed. */
  readonly error?: RunFailure | undefined;
}

/** A run that waits for an approval. */
export interface Waiting {
  /** What `resume` takes. */
  readonly ticket: string;
  readonly tool: string;
  readonly expiresAt: Date;
}

/** What a program came to. */
export interface Run {
  /** Whether it succeeded. */
  readonly ok: boolean;
  /** Its value; `undefined` where it failed or waits. */
  readonly value: unknown;
  /** Why it failed; `undefined` where it succeeded. `ApprovalPending` where it waits. */
  readonly error: RunFailure | undefined;
  readonly envelope: Envelope;
  /** The text that a model gets of it. */
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

/** What a model gets of a call of one of ptc's tools. */
export interface ToolReply {
  readonly text: string;
  /** The text, and what a program emitted. */
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  /** Of a program. */
  readonly run?: Run | undefined;
  /** Present where what it called waits for an approval. */
  readonly waiting?: Waiting | undefined;
}

/** One of ptc's tools for models: its definition, and the function that it stands for. */
export interface PtcTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly annotations?: Readonly<Record<string, unknown>> | undefined;
  /** Calls it with a model's arguments, which are checked. Never rejects for what a model did. */
  execute(args: unknown, options?: CallOptions): Promise<ToolReply>;
}

/** What a replay came to. */
export interface Replay {
  /** Whether the program did just the same. */
  readonly same: boolean;
  /** How it differs, in one line. */
  readonly divergence?: string | undefined;
  readonly envelope: Envelope;
}

/** How ptc is opened. Everything may be left out. */
export interface PtcOptions extends Pick<CallOptions, "principal" | "approve" | "onElicit"> {
  /**
   * The path of a `ptc.yaml`, which is followed while it is edited; or what would stand in it, as an object. Without it there are
   * no servers, and every setting has its default.
   */
  readonly config?: string | PtcConfig;
  /**
   * Functions of your program that programs can call, as `mcp__functions__<name>` and in the module `servers/functions`; also as tools
   * of other SDKs.
   */
  readonly tools?: Readonly<Record<string, FunctionTool | SdkTool>>;
  /** Receives failures that belong to no run, one line each; by default they are process warnings. */
  readonly onWarning?: (message: string) => void;
  /** The folder that relative paths, `.ptc` and its archive start from, unless `config` is a file; by default the working directory. */
  readonly cwd?: string;
  /** Where variables are expanded from; by default `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** An open ptc. Several in one process do not meet. */
export interface Ptc extends AsyncDisposable {
  /**
   * Runs a program. Failures of the program, of a server and of the sandbox are in the result.
   *
   * @throws PtcError for a program or options that cannot be used, and when too many programs run already.
   */
  run(code: string, options?: RunOptions): Promise<Run>;
  /**
   * Goes on with a run that waits, once its question is answered: by `answer`, by `approve`, or before. What it has called stays
   * called.
   *
   * @throws PtcError `no_ticket` where nothing waits under it, `unanswered`, `answered` where `answer` comes too late.
   */
  resume(ticket: string, options?: CallOptions & { readonly answer?: ApprovalAnswer }): Promise<Run>;
  /** The questions that wait, the oldest first. They outlive the process. @throws PtcError */
  approvals(options?: Pick<CallOptions, "principal">): Promise<readonly PendingApproval[]>;
  /** Answers a question without going on. @throws PtcError as `resume` does. */
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
  /** What a model should be told once, as the system prompt. */
  readonly instructions: string;
  /** Ends sandboxes, servers and everything else that is open. Runs in progress are cancelled. */
  close(): Promise<void>;
}

/** Why something could not be done. */
export type PtcErrorCode =
  /** The configuration, a tool, a program or an option cannot be used. */
  | "invalid"
  /** The most programs that may run and wait do so already. */
  | "busy"
  /** No sandbox can run on this machine. */
  | "no_sandbox"
  /** Nothing waits under this ticket. */
  | "no_ticket"
  /** Nobody has answered its question yet. */
  | "unanswered"
  /** Its question was answered before. */
  | "answered"
  /** A run is not in the archive, or cannot be replayed; or the archive cannot be used. */
  | "archive"
  /** It was closed. */
  | "closed";

/** What ptc could not do, in one line that says what is wrong, where, and what to do. It holds no secrets. */
export class PtcError extends Error {
  override readonly name = "PtcError";
  readonly code: PtcErrorCode;

  constructor(code: PtcErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Makes a tool of a function of your program. The types of its arguments and its result come from the schemas; with a JSON Schema,
 * they are unknown.
 */
export function tool<Input extends Schema = JsonSchema, Output extends Schema = JsonSchema>(
  definition: ToolDefinition<Input, Output>,
): FunctionTool {
  return definition;
}
