import type { ApprovalAnswer, Approver } from "../broker/approvals/approvals.ts";
import type { TypecheckMode } from "../languages/language.ts";
import type { Program } from "../languages/program.ts";
import type { HandedIn } from "../languages/settle-program.ts";
import type { RunContext } from "../protocol/run-context.ts";
import type { TraceContext } from "../protocol/trace-context.ts";
import type { OnCallProgress } from "../upstream/upstream.ts";
import type { CallObserver } from "./call-log.ts";
import type { DirectCall, ExecutedCall } from "./execute-call.ts";
import type { ExecutedProgram } from "./output/executed-program.ts";
import type { PendingApproval } from "./pending/pending-approvals.ts";
import type { RunListener } from "./runs/run-events.ts";

export interface ProgramOptions extends Pick<CallObserver, "onCall"> {
  /** On whose behalf the program runs. */
  context: RunContext;
  /** Overrides the configured time limit. */
  timeoutMs?: number | undefined;
  /** The result is written to a file, and may be larger than one that is shown. */
  toFile?: boolean | undefined;
  /** Overrides the configured mode. */
  typecheck?: TypecheckMode | undefined;
  /** How long the program waits for its type check, in milliseconds, before it runs unchecked; without it, as its language has it. */
  checkPatienceMs?: number | undefined;
  /** The trace of whoever has it run. */
  trace?: TraceContext | undefined;
  approver: Approver;
  /** Is called before the first call of the run, which waits for it. */
  beforeCalls?: ((runId: string) => Promise<void>) | undefined;
  /** Cancels the run. */
  signal: AbortSignal;
  /** Receives this run's events, as a listener of the host's `RunFeed` does. */
  onEvent?: RunListener;
  /** The name of the session that the program runs in, among those of its principal; in none without it. */
  session?: string | undefined;
  /** Whether the run is suspended where its approver answers `later`. A run in a session is not. */
  suspends?: boolean | undefined;
}

export interface CallOptions extends Pick<CallObserver, "onCall" | "onCallStarted"> {
  /** On whose behalf it is called. */
  context: RunContext;
  /** The trace of whoever makes the call. */
  trace?: TraceContext | undefined;
  approver: Approver;
  /** Whether the call is suspended where its approver answers `later`. */
  suspends?: boolean | undefined;
  /** Whether what the tool answered is handed on as it did. */
  withAnswer?: boolean | undefined;
  /** Is told how far the server says that the call has come. */
  onProgress?: OnCallProgress | undefined;
  signal: AbortSignal;
}

/** Runs programs under the configuration. Every failure is in the envelope. */
export interface ProgramRunner {
  run(program: HandedIn, options: ProgramOptions): Promise<ExecutedProgram>;
  /** Makes single calls of tools; without it, programs make them all. */
  call?(call: DirectCall, options: CallOptions): Promise<ExecutedCall>;
  /** The runs that wait for approvals; without it, none does. */
  suspended?: SuspendedPrograms;
}

/** A suspended run that this process has claimed, or why it has not. */
export type TakenProgram =
  | {
      kind: "taken";
      program: Program;
      goOn(options: Omit<ProgramOptions, "timeoutMs" | "typecheck">): Promise<ExecutedProgram>;
      /** Gives it back instead. */
      leave(): Promise<void>;
    }
  /** Nobody has answered its question yet. */
  | { kind: "unanswered"; pending: PendingApproval }
  /** Another process goes on with it. */
  | { kind: "elsewhere" }
  /** It still has its sandbox, and goes on by itself when its question is answered. */
  | { kind: "live"; pending: PendingApproval }
  | { kind: "unknown" };

/** Runs that wait for approvals. Methods reject with a `PendingError` when they cannot be had. */
export interface SuspendedPrograms {
  /** Takes a run of this principal, to go on with it. */
  take(principal: string, ticket: string): Promise<TakenProgram>;
  /** Gives the first answer to a question. False when it was answered before, or has expired. */
  answer(principal: string, pending: PendingApproval, answer: ApprovalAnswer): Promise<boolean>;
  /** Whether nothing waits for an answer to it any more. */
  isAnswered(principal: string, pending: PendingApproval): Promise<boolean>;
}
