import { describePlanned } from "../../broker/approvals/approval-text.ts";
import { isApprovable, type Plan } from "../../broker/approvals/plan.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { DryRun } from "./planned-program.ts";

/** What a dry run came to, as JSON for programs and models. */
export interface PlanReport {
  readonly outcome: DryRun["kind"];
  /** Identifies the plan. */
  readonly digest?: string;
  readonly calls?: readonly ReportedCall[];
  /** Why more calls may follow. */
  readonly more?: string;
  /** Why the rehearsal failed. */
  readonly error?: Failure;
}

/** A call of a plan in a report. */
interface ReportedCall {
  readonly number: number;
  /** `mcp__<server>__<tool>`. */
  readonly tool: string;
  readonly arguments: unknown;
  /** Whether a person has to approve it. */
  readonly asks: boolean;
  /** Whether an answer to the question of the plan can approve it. */
  readonly approvable: boolean;
  readonly notes: readonly string[];
}

/** Reports a dry run. */
export function reportPlan(outcome: DryRun): PlanReport {
  switch (outcome.kind) {
    case "unchanged":
      return { outcome: "unchanged", calls: [] };
    case "failed":
      return { outcome: "failed", error: outcome.error };
    case "changes": {
      const { digest, more } = outcome.plan;
      return {
        outcome: "changes",
        digest,
        calls: reportCalls(outcome.plan),
        ...(more === undefined ? {} : { more }),
      };
    }
  }
}

function reportCalls({ calls }: Plan): ReportedCall[] {
  return calls.map((call, index) => ({
    number: index + 1,
    tool: call.tool,
    arguments: call.arguments,
    asks: call.asks,
    approvable: isApprovable(call),
    notes: describePlanned(call),
  }));
}
