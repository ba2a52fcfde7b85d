import type { Approver } from "../broker/approvals/approvals.ts";
import type { CallObserver } from "../execution/call-log.ts";
import type { ExecutedProgram } from "../execution/execute-program.ts";
import type { TypecheckMode } from "../execution/prepare/language.ts";
import type { HandedIn } from "../execution/prepare/settle-program.ts";
import type { RunContext } from "../protocol/run-context.ts";
import type { TraceContext } from "../telemetry/trace-context.ts";
import type { RunListener } from "./runs/run-events.ts";

export interface ProgramOptions extends Pick<CallObserver, "onCall"> {
  /** On whose behalf the program runs. */
  context: RunContext;
  /** Overrides the configured time limit. */
  timeoutMs?: number | undefined;
  /** Overrides the configured mode. */
  typecheck?: TypecheckMode | undefined;
  /** The trace of whoever has it run. */
  trace?: TraceContext | undefined;
  approver: Approver;
  /** Is called before the first call of the run, which waits for it. */
  beforeCalls?: ((runId: string) => Promise<void>) | undefined;
  /** Cancels the run. */
  signal: AbortSignal;
  /** Receives this run's events, as a listener of the host's `RunFeed` does. */
  onEvent?: RunListener;
}

/** Runs programs under the configuration. Every failure is in the envelope. */
export interface ProgramRunner {
  run(program: HandedIn, options: ProgramOptions): Promise<ExecutedProgram>;
}
