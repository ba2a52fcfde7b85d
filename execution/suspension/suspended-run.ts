import type { ApprovalAnswer, ApprovalRequest, ApprovalsSoFar } from "../../broker/approvals/approvals.ts";
import type { Shown } from "../../broker/flow/conversation.ts";
import type { RunRead } from "../../broker/policy/run-history.ts";
import type { TypecheckMode } from "../../languages/language.ts";
import type { Program } from "../../languages/program.ts";
import type { ProgramEnvironment, Trace } from "../../protocol/messages.ts";
import type { Identified } from "../../protocol/run-context.ts";
import type { RunLimits } from "../output/runner-output.ts";
import type { KeptCall } from "./kept-calls.ts";

/** Everything needed to continue a run whose sandbox was given up. Nothing in it is redacted. */
export interface SuspendedRun {
  runId: string;
  traceId: string;
  /** The run's place in a collector's traces, if there is a collector. */
  place?: TraceParent | undefined;
  /** When the run began, in milliseconds since 1970. */
  startedAt: number;
  program: Program;
  /** The modules that the program imported, as they were. `knownModules` has the names of all modules at that time. */
  modules: readonly (readonly [module: string, text: string])[];
  knownModules: readonly string[];
  environment: Omit<ProgramEnvironment, "replay">;
  /** The trace until the suspension; `undefined` when the runner sent none. */
  trace: Trace | undefined;
  limits: RunLimits;
  typecheck: TypecheckMode;
  calls: readonly KeptCall[];
  approvals: ApprovalsSoFar;
  /** What the model that wrote the program had been shown, if labels follow its conversation. */
  shown?: readonly Shown[] | undefined;
  /** The toolsets to which it was narrowed. They apply wherever the run continues. */
  toolsets?: readonly string[] | undefined;
  /** What other runs of its conversation had read, where rules see them together. */
  reads?: readonly RunRead[] | undefined;
  /** The time that it has taken so far. */
  spent: { durationMs: number; insideMs: number };
}

/** A place in a trace, as W3C Trace Context writes it. */
interface TraceParent {
  traceparent: string;
  tracestate?: string;
}

/** The result of keeping a run: the ticket under which it waits, or why it cannot wait. */
export type KeptRun = { ok: true; ticket: string; expiresAt: number } | { ok: false; why: string };

/** Keeps runs until somebody has answered. */
export interface RunKeeper {
  /** When the run began, in milliseconds since 1970. */
  readonly startedAt: number;
  /** Keeps a run. Resolves when the kept run would survive the end of this process. Never rejects. */
  keep(run: SuspendedRun, question: ApprovalRequest, ticket: string | undefined): Promise<KeptRun>;
}

/** A suspended run that continues, because its question was answered. */
export interface ResumedRun {
  run: SuspendedRun;
  /** Who began it, with the groups that counted then. */
  began: Identified;
  /** The answer, and the digest of the only question for which it counts. */
  answered: { digest: string; answer: ApprovalAnswer };
  /**
   * Called once, before the first live call. Resolves with `undefined` when no other process can continue the run, even after this
   * one ends. Resolves with a reason when another process already continues it.
   */
  goLive(): Promise<string | undefined>;
  /** The run ended before anything was called. It can be tried again, or is over. Never rejects. */
  leave(isToBeTriedAgain: boolean): Promise<void>;
}
