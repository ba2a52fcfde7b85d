import { printable, renderApprovalArguments } from "../broker/approval-text.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../broker/approvals.ts";

const BY = "elicitation";

/** The form that a client shows a person, as `elicitation/create` has it. */
export function buildApprovalForm({ tool, arguments: args }: ApprovalRequest) {
  return {
    mode: "form" as const,
    message: `A program wants to call ${printable(tool)} with\n${renderApprovalArguments(args)}`,
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

/** Reads what came back. Anything but a clear yes is a no. */
export function parseApprovalAnswer(response: unknown): ApprovalAnswer {
  if (typeof response !== "object" || response === null) return { decision: "denied", by: BY };
  const { action, content } = response as { action?: unknown; content?: unknown };
  const decision =
    action === "accept" && typeof content === "object" && content !== null && "decision" in content
      ? content.decision
      : undefined;
  return { decision: decision === "once" || decision === "run" ? decision : "denied", by: BY };
}
