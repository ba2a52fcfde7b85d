import type { ApprovalAnswer, ApprovalRequest, ApprovalsSoFar } from "../../broker/approvals/approvals.ts";
import type { Shown } from "../../broker/flow/conversation.ts";
import type { TypecheckMode } from "../../languages/language.ts";
import type { Program } from "../../languages/program.ts";
import type { ProgramEnvironment, Trace } from "../../protocol/messages.ts";
import type { RunLimits } from "../output/runner-output.ts";
import type { KeptCall } from "./kept-calls.ts";

/** All that it takes to continue a run whose sandbox was given up. Nothing in it is redacted. */
export interface SuspendedRun {
  runId: string;
  traceId: string;
  /** Where a collector was told of it, where one was. */
  place?: TraceParent | undefined;
  /** When the run began, in milliseconds since 1970. */
  startedAt: number;
  program: Program;
  /** The modules that the program imported, as they were, and the names of all that there were. */
  modules: readonly (readonly [module: string, text: string])[];
  knownModules: readonly string[];
  environment: Omit<ProgramEnvironment, "replay">;
  /** What the program had seen until then; `undefined` when its runner sent no trace. */
  trace: Trace | undefined;
  limits: RunLimits;
  typecheck: TypecheckMode;
  calls: readonly KeptCall[];
  approvals: ApprovalsSoFar;
  /** What the model that wrote the program had been shown, where labels are kept to its conversation. */
  shown?: readonly Shown[] | undefined;
  /** What it has taken so far. */
  spent: { durationMs: number; insideMs: number };
}

/** A place in a trace, as W3C Trace Context writes it. */
interface TraceParent {
  traceparent: string;
  tracestate?: string;
}

/** What came of keeping a run: the ticket under which it waits, or why it cannot wait. */
export type KeptRun = { ok: true; ticket: string; expiresAt: number } | { ok: false; why: string };

/** Keeps runs until somebody has answered. */
export interface RunKeeper {
  /** When its run began, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Keeps a run. Resolves when it would survive the end of this process. Never rejects. */
  keep(run: SuspendedRun, question: ApprovalRequest, ticket: string | undefined): Promise<KeptRun>;
}

/** A suspended run that continues, because its question was answered. */
export interface ResumedRun {
  run: SuspendedRun;
  /** The answer, and the question for which alone it counts. */
  answered: { digest: string; answer: ApprovalAnswer };
  /**
   * Is called once, before the first live call. Resolves when no other process can continue the run, and that is certain to
   * outlive this one; with a reason when another already does.
   */
  goLive(): Promise<string | undefined>;
  /** The run has ended before anything was called. It can be tried again, or is over. Never rejects. */
  leave(isToBeTriedAgain: boolean): Promise<void>;
}
