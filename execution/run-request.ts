import type { ApprovalAnswer, Approver, Grants } from "../broker/approvals/approvals.ts";
import type { Conversation } from "../broker/flow/conversation.ts";
import type { Viewer } from "../broker/policy/authorizer.ts";
import type { ConversationRuns } from "../broker/policy/run-history.ts";
import type { TypecheckMode } from "../languages/language.ts";
import type { UnresolvedProgram } from "../languages/resolve-program.ts";
import type { ConsoleEntry } from "../protocol/console-stream.ts";
import type { Identified, OnPhase, RunContext } from "../protocol/run-context.ts";
import type { TraceContext } from "../protocol/trace-context.ts";
import type { OnCallProgress } from "../upstream/upstream.ts";
import type { CallObserver } from "./call-log.ts";
import type { Allowance } from "./limits/usage-limits.ts";
import type { ExecutedCall, ExecutedProgram } from "./output/executed-run.ts";
import type { PlannedProgram } from "./output/planned-program.ts";
import type { PendingApproval, TakenRun } from "./pending/pending-approvals.ts";
import type { RunListener } from "./runs/run-events.ts";
import type { ResumedRun } from "./suspension/suspended-run.ts";

/**
 * What is run, and for whom. A request is made once, where a run comes in (a command, a request of an MCP client), and is handed
 * down whole. Nothing on the way changes or repacks it. Observers receive no secrets.
 */
export interface RunRequest extends Readonly<CallObserver> {
  /** The principal of the run, and where the run came from. */
  readonly context: RunContext;
  readonly approver: Approver;
  /** Whether the run is suspended when its approver answers `later`. A program in a session never is. */
  readonly suspends?: boolean | undefined;
  /** The conversation with a model that the run belongs to; by default that of its session, or a new one. */
  readonly conversation?: Conversation | undefined;
  /** The state of that conversation's runs, if rules see its direct calls together (`direct.runs`). */
  readonly together?: RunsTogether | undefined;
  /** Texts of the user, in the user's own words and not in the model's. */
  readonly said?: readonly string[] | undefined;
  /** The trace of the caller. */
  readonly trace?: TraceContext | undefined;
  /** What it may use. The caller that admitted the run ends the allowance. If absent, the host admits the run under the configured limits. */
  readonly allowance?: Allowance | undefined;
  /** Cancels the run. */
  readonly signal: AbortSignal;
}

/** The state of the runs of one conversation. */
export interface RunsTogether {
  readonly runs: ConversationRuns;
  /** What was approved for all of its direct calls. If absent, requests may be of several conversations: none counts for another. */
  readonly grants?: Grants | undefined;
}

/** A program to run. A `resumed` run keeps its own program, limits and mode. */
export interface ProgramRequest extends RunRequest {
  readonly program: UnresolvedProgram;
  /** A suspended run to continue. */
  readonly resumed?: ResumedRun | undefined;
  /** Whether active principals have nothing running while this one has other programs. The program then leaves the last sandbox to them. */
  readonly leavesSpare?: boolean | undefined;
  /** Overrides the configured time limit. */
  readonly timeoutMs?: number | undefined;
  /** Overrides the configured mode. */
  readonly typecheck?: TypecheckMode | undefined;
  /** How many milliseconds the program waits for its type check before it runs unchecked. The language sets the default. */
  readonly checkPatienceMs?: number | undefined;
  /** Whether the result is written to a file, and may be larger than a result that is shown. */
  readonly toFile?: boolean | undefined;
  /** The name of the principal's session that the program runs in; none by default. */
  readonly session?: string | undefined;
  /** Called before the first call, which waits for it. */
  readonly beforeCalls?: ((runId: string) => Promise<void>) | undefined;
  /** Receives console text as it is printed, bounded by the limits. */
  readonly onConsole?: ((entry: ConsoleEntry) => void) | undefined;
  /** Called when a part of the run begins. */
  readonly onPhase?: OnPhase | undefined;
  /** Receives the events of this run, as a listener of the host's `RunFeed` does. */
  readonly onEvent?: RunListener | undefined;
}

/** One call of a tool, by its namespaced name. */
export interface DirectCall {
  readonly tool: string;
  readonly arguments: unknown;
}

/** A single call to make, without a sandbox. */
export interface CallRequest extends RunRequest {
  readonly call: DirectCall;
  /** Whether the result also holds the tool's answer in its own form. */
  readonly withAnswer?: boolean | undefined;
  /** Receives the server's progress reports. */
  readonly onProgress?: OnCallProgress | undefined;
}

/** Runs programs under the configuration. Every failure is in the envelope. */
export interface ProgramRunner {
  run(request: ProgramRequest): Promise<ExecutedProgram>;
  /** Rehearses programs: they change nothing, and nobody is asked. If absent, programs are only run. */
  plan?(request: ProgramRequest): Promise<PlannedProgram>;
  /** Makes single calls of tools; absent if only programs make calls. */
  call?(request: CallRequest): Promise<ExecutedCall>;
  /** The runs that wait for approvals; absent if runs are never suspended. */
  suspended?: SuspendedPrograms;
}

/** Runs that wait for approvals. Methods reject with a `PendingError` when the store of these runs cannot be used. */
export interface SuspendedPrograms {
  /** Claims a run of somebody, to continue it. */
  take(viewer: Identified, ticket: string): Promise<TakenRun>;
  /** Gives the first answer to a question. False when it was answered before, or has expired. */
  answer(principal: string, pending: PendingApproval, answer: ApprovalAnswer): Promise<boolean>;
  /** Whether a question is answered or gone. */
  isAnswered(principal: string, pending: PendingApproval): Promise<boolean>;
  /** The question of another's run that a rule lets somebody answer; `undefined` for any other. If absent, there is none. */
  ofAnother?(viewer: Viewer, ticket: string): Promise<PendingApproval | undefined>;
}
