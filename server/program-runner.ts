import type { Approver } from "../broker/approvals.ts";
import type { CallObserver } from "../execution/call-log.ts";
import type { ExecutedProgram } from "../execution/execute-program.ts";
import type { TypecheckMode } from "../execution/prepare-program.ts";
import type { Program } from "../execution/program.ts";

export interface ProgramOptions extends CallObserver {
  timeoutMs: number | undefined;
  typecheck: TypecheckMode | undefined;
  approver: Approver;
  signal: AbortSignal;
}

/** Runs programs as the configuration says. Every way to fail is in the envelope. */
export interface ProgramRunner {
  run(program: Program, options: ProgramOptions): Promise<ExecutedProgram>;
}
