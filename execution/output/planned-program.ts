import type { Plan } from "../../broker/approvals/plan.ts";
import type { Program } from "../../languages/program.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { ExecutedProgram } from "./executed-run.ts";

/** What a program would change, or why its rehearsal failed before any change. */
export type DryRun =
  | { readonly kind: "unchanged" }
  | { readonly kind: "changes"; readonly plan: Plan }
  | { readonly kind: "failed"; readonly error: Failure };

/** A program that was only rehearsed. */
export interface PlannedProgram extends Pick<ExecutedProgram, "shown"> {
  readonly program: Program;
  readonly outcome: DryRun;
  readonly typeWarning?: string | undefined;
}
