import { visibleLine } from "../../../base/text/visible-text.ts";
import { renderApprovalOverview } from "../../../broker/approvals/approval-overview.ts";
import { renderApprovalArguments } from "../../../broker/approvals/approval-text.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../../broker/approvals/approvals.ts";

/** The approver that is recorded for an answer of the client's user. */
const BY = "elicitation";

const DECISION = {
  type: "string" as const,
  title: "What to allow",
  oneOf: [
    { const: "once", title: "Yes, this call" },
    { const: "run", title: "All calls of this tool by this program" },
    { const: "no", title: "No" },
  ],
  default: "once",
};

/**
 * The form that a client shows a person: the parameters of `elicitation/create` (MCP 2025-11-25, Elicitation). The first
 * question about a tool has no field, so that Claude Code puts its cursor on Accept and one Enter allows the call on the screen
 * and nothing else. When a program comes back with the same tool, its further calls can be allowed as well.
 */
export function buildApprovalForm({ tool, arguments: args, isAgain = false }: ApprovalRequest) {
  const { lines, isCut, isFollowed } = renderApprovalOverview(tool, args);
  const inFull = ["", `A program wants to call ${visibleLine(tool)} with`, renderApprovalArguments(args)];
  const below = isCut && isFollowed ? inFull : [];
  return {
    mode: "form" as const,
    message: [...lines, ...below].join("\n"),
    requestedSchema: { type: "object" as const, properties: isAgain ? { decision: DECISION } : {} },
  };
}

/**
 * Reads a client's answer to such a form. Accepting without a decision is what the form says that accepting is. Anything but
 * accepting is a denial.
 */
export function parseApprovalAnswer(response: unknown): ApprovalAnswer {
  if (typeof response !== "object" || response === null) return { decision: "denied", by: BY };
  const { action, content = {} } = response as { action?: unknown; content?: unknown };
  if (action !== "accept" || typeof content !== "object" || content === null)
    return { decision: "denied", by: BY };
  const decision = "decision" in content ? content.decision : DECISION.default;
  return { decision: decision === "once" || decision === "run" ? decision : "denied", by: BY };
}
