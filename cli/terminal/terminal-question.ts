import { visibleLine } from "../../base/text/visible-text.ts";
import { renderApprovalArguments } from "../../broker/approvals/approval-text.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../broker/approvals/approvals.ts";
import type { Surroundings } from "../surroundings.ts";
import type { ProgramConsole } from "./program-console.ts";
import { readLine, throwAwayTyped } from "./typed-line.ts";

/** A longer tool name is shown with the arguments, but not repeated in the line with the cursor. */
const MAX_NAME_CHARS = 60;

export interface QuestionParts {
  console: ProgramConsole;
  surroundings: Surroundings;
  /** Who wants the call, in words that go before the tool; a program without it. */
  asker?: string | undefined;
  /** Is called for Ctrl-C while a question is open. */
  onInterrupt: () => void;
}

/**
 * Draws one question below everything else on the terminal and reads its answer. Text of programs and servers in it is
 * marked line by line. Anything but an explicit approval is a denial.
 */
export async function askOnTerminal(
  { tool, arguments: args }: ApprovalRequest,
  { console, surroundings, asker = "the program wants to call", onInterrupt }: QuestionParts,
  signal: AbortSignal,
): Promise<ApprovalAnswer["decision"]> {
  if (signal.aborted) return "denied";
  const name = visibleLine(tool);
  console.hold();
  try {
    if (!(await throwAwayTyped(surroundings.stdin))) {
      onInterrupt();
      return "denied";
    }
    if (signal.aborted) return "denied";
    console.draw(`\nptc asks: ${asker}\n`);
    console.draw(console.quote(name));
    console.draw("with\n");
    console.draw(console.quote(renderApprovalArguments(args)));
    const what = name.length <= MAX_NAME_CHARS ? name : "this";
    const prompt = `Allow ${what}? [y]es, [a]lways in this run, [N]o: `;
    const answer = await readLine(prompt, surroundings, onInterrupt, signal);
    switch (answer?.trim().toLowerCase()) {
      case "y":
      case "yes":
        return "once";
      case "a":
      case "always":
        return "run";
      default:
        return "denied";
    }
  } finally {
    console.release();
  }
}
