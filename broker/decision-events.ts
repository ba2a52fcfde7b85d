import { oneLine } from "../base/visible-text.ts";
import type { Tool } from "../catalog/tool.ts";
import type { ApprovalAnswered, CallDecision, PolicyDecided } from "../protocol/call-decision.ts";

/** A call of a tool that is not annotated as read-only, after all checks. */
export interface CallGoingOut {
  /** The number of the call within its run, from 1. */
  seq: number;
  server: string;
  tool: string;
  arguments: unknown;
  decision: CallDecision;
  approver?: string | undefined;
}

/** Receives what happens in one run besides its calls, for example to log it. No method throws. */
export interface RunEvents {
  /** Resolves when the call may be sent. If the call cannot be logged, resolves with the reason, and the call must not be sent. */
  beforeEffect?: ((call: CallGoingOut) => Promise<string | undefined>) | undefined;
  onDecision?(decided: PolicyDecided): void;
  onApproval?(answered: ApprovalAnswered): void;
}

/** Logs a call before it is sent, unless its tool is annotated as read-only. Returns the reason if it must not be sent. */
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
