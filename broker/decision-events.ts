import { oneLine } from "../base/visible-text.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ApprovalAnswered, CallDecision, PolicyDecided } from "../protocol/call-decision.ts";

/** A call of a tool that does not say that it only reads, when nothing is left to be checked. */
export interface CallGoingOut {
  /** The number of the call within its run, from 1. */
  seq: number;
  server: string;
  tool: string;
  arguments: unknown;
  decision: CallDecision;
  approver?: string | undefined;
}

/** Receives what happens in one run beside its calls, such as for a log. No method throws. */
export interface RunEvents {
  /** Resolves when the call may go out, or with the reason why its log cannot be kept, for which it must not. */
  beforeEffect?: ((call: CallGoingOut) => Promise<string | undefined>) | undefined;
  onDecision?(decided: PolicyDecided): void;
  onApproval?(answered: ApprovalAnswered): void;
}

/** Has a call noted before it goes out, unless its tool says that it only reads. Returns why the call must not. */
export async function announceCall(
  { annotations }: Pick<Tool, "annotations">,
  call: CallGoingOut,
  events: RunEvents | undefined,
): Promise<string | undefined> {
  if (events?.beforeEffect === undefined || annotations?.readOnlyHint === true) return undefined;
  const problem = await events.beforeEffect(call);
  if (problem === undefined) return undefined;
  const why = `ptc.yaml has \`audit: strict\`, and the audit log cannot be written: ${oneLine(problem)}`;
  return `'${call.tool}' was not called: ${why}`;
}
