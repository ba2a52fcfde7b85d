import { visibleLine } from "../../../base/text/visible-text.ts";
import { renderApprovalArguments } from "../../../broker/approval-text.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../../broker/approvals.ts";

/** The approver that is recorded for an answer of the client's user. */
const BY = "elicitation";

/** The form that a client shows a person: the parameters of `elicitation/create` (MCP 2025-11-25, Elicitation). */
export function buildApprovalForm({ tool, arguments: args }: ApprovalRequest) {
  return {
    mode: "form" as const,
    message: `A program wants to call ${visibleLine(tool)} with\n${renderApprovalArguments(args)}`,
    requestedSchema: {
      type: "object" as const,
      properties: {
        decision: {
          type: "string" as const,
          title: "Allow this call?",
          oneOf: [
            { const: "once", title: "Yes, this call" },
            { const: "run", title: "Yes, this tool for the rest of this program" },
            { const: "no", title: "No" },
          ],
        },
      },
      required: ["decision"],
    },
  };
}

/** Reads a client's answer to such a form. Anything but an explicit approval is a denial. */
export function parseApprovalAnswer(response: unknown): ApprovalAnswer {
  if (typeof response !== "object" || response === null) return { decision: "denied", by: BY };
  const { action, content } = response as { action?: unknown; content?: unknown };
  const decision =
    action === "accept" && typeof content === "object" && content !== null && "decision" in content
      ? content.decision
      : undefined;
  return { decision: decision === "once" || decision === "run" ? decision : "denied", by: BY };
}
