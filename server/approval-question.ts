import type { ApprovalAnswer, ApprovalRequest } from "../broker/approvals.ts";

const MAX_ARGUMENT_CHARS = 2_000;
const BY = "elicitation";

/** The form that a client shows a person, as `elicitation/create` has it. */
export function buildApprovalForm({ tool, arguments: args }: ApprovalRequest) {
  const shown = printable(JSON.stringify(args, null, 2) ?? "").slice(0, MAX_ARGUMENT_CHARS);
  return {
    mode: "form" as const,
    message: `A program wants to call ${printable(tool)} with\n${shown}`,
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

/** Arguments are the program's: no control character of theirs may repaint the question. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => (character === "\n" ? character : "\u{fffd}"));
}
