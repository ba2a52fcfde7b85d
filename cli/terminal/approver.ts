import { visibleLine } from "../../base/text/visible-text.ts";
import { type Approver, UNASKED } from "../../broker/approvals.ts";
import { matchesPattern } from "../../protocol/tools/tool-pattern.ts";
import { askOnTerminal, type QuestionParts } from "./terminal-question.ts";

/**
 * The approver of the command line. Approves calls whose tool matches an `--approve` pattern. For other calls it asks on the
 * terminal, one question at a time; without a terminal it denies them.
 */
export function buildApprover(patterns: readonly string[], parts: QuestionParts): Approver {
  const { console, surroundings } = parts;
  let turn: Promise<unknown> = Promise.resolve();
  return {
    async ask(request, signal) {
      if (patterns.some((pattern) => matchesPattern(pattern, request.tool)))
        return { decision: "once", by: "--approve" };
      const { stdin, stderr } = surroundings;
      if (stdin.isTTY !== true || stderr.isTTY !== true || stdin.readableEnded) {
        console.tell(
          `ptc: ${visibleLine(request.tool)} was denied: nobody can be asked here; ${howToApprove(request.tool)}`,
        );
        return UNASKED;
      }
      const answer = turn.then(() => askOnTerminal(request, parts, signal));
      turn = answer.catch(() => {});
      return { decision: await answer, by: "terminal" };
    },
  };
}

/** How to approve the tool by an option, with its name ready to be pasted if a shell needs no escaping for it. */
function howToApprove(tool: string): string {
  return /^[\w.-]+$/.test(tool) ? `pass --approve '${tool}'` : "pass --approve with a pattern for its name";
}
