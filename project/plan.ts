/** What a program would change, for people at a terminal and for scripts. */
import { visibleLine } from "../base/visible-text.ts";
import { approvableCalls } from "../broker/approvals/approval-scope.ts";
import { renderPlannedCall, summarizePlan } from "../broker/approvals/approval-text.ts";
import type { Plan } from "../broker/approvals/plan.ts";
import { type PlanReport, reportPlan } from "../execution/output/plan-report.ts";
import type { DryRun, PlannedProgram } from "../execution/output/planned-program.ts";

/** A program that was rehearsed for the user of this machine. */
export interface PresentedPlan {
  readonly kind: DryRun["kind"];
  /** The plan as JSON. */
  readonly report: PlanReport;
  /** The plan in lines, or why there is none. */
  readonly lines: readonly string[];
  readonly typeWarning: string | undefined;
}

/** Presents what a rehearsal came to. */
export function presentPlan({ outcome, typeWarning }: PlannedProgram): PresentedPlan {
  const presented = { kind: outcome.kind, report: reportPlan(outcome), typeWarning };
  switch (outcome.kind) {
    case "unchanged":
      return { ...presented, lines: ["It would change nothing."] };
    case "changes":
      return { ...presented, lines: renderWhole(outcome.plan) };
    case "failed":
      return { ...presented, lines: [`${outcome.error.type}: ${outcome.error.message}`] };
  }
}

/** A plan in lines, with all arguments, in the words of nobody's question. */
function renderWhole(plan: Plan): string[] {
  const { calls, more } = plan;
  const approvable = approvableCalls(plan).length;
  return [
    `It would change something: ${summarizePlan({ ...plan, more: undefined })}`,
    ...calls.flatMap((_, index) => renderPlannedCall(plan, index + 1)),
    more === undefined ? "Nothing else would change." : `More may follow: ${visibleLine(more)}.`,
    ...(approvable === calls.length ? [] : ["* A question about the whole plan does not cover these calls."]),
  ];
}
