import { visibleLine } from "../../base/text/visible-text.ts";
import { type Approver, LATER, UNASKED } from "../../broker/approvals/approvals.ts";
import { describeOutrun } from "../../broker/approvals/outrun.ts";
import { NOT_ASKED } from "../../broker/elicitation/inquiry.ts";
import { matchesPattern } from "../../protocol/tools/tool-pattern.ts";
import { localUserName } from "../local-user.ts";
import { inquireOnTerminal } from "./terminal-inquiry.ts";
import { askOnTerminal, type QuestionParts } from "./terminal-question.ts";

/**
 * The approver of the command line. Approves calls whose tool matches an `--approve` pattern. For other calls it asks on the
 * terminal, one question at a time; without a terminal it denies them. Questions of servers are put on the terminal too.
 */
export function buildApprover(
  patterns: readonly string[],
  parts: QuestionParts & { suspends?: boolean | undefined },
): Approver {
  const { console, surroundings, suspends = false } = parts;
  let turn: Promise<unknown> = Promise.resolve();
  return {
    async ask(request, signal) {
      if (patterns.some((pattern) => matchesPattern(pattern, request.tool)))
        return { decision: "once", by: "--approve", how: "an option of the command" };
      if (!isAnybodyThere(surroundings)) {
        if (suspends) return LATER;
        // Where stderr is no terminal, a model may read it: it is told how a person can be asked, and not how to do without.
        const next =
          surroundings.stderr.isTTY === true
            ? howToApprove(request.tool)
            : parts.suspends === undefined
              ? "run it on a terminal, where a person can be"
              : "with --suspend the run waits until a person has answered";
        console.tell(`ptc: ${visibleLine(request.tool)} was denied: nobody can be asked here; ${next}`);
        return UNASKED;
      }
      const answer = turn.then(() => askOnTerminal(request, parts, signal));
      turn = answer.catch(() => {});
      return {
        ...(await answer),
        by: "terminal",
        how: `typed at a terminal of user ${localUserName()}`,
      };
    },
    outrun({ tool }, answer) {
      console.tell(`ptc: ${visibleLine(tool)}: ${describeOutrun(answer)}`);
    },
    async inquire(inquiry, signal) {
      if (!isAnybodyThere(surroundings)) return NOT_ASKED;
      const answer = turn.then(() => inquireOnTerminal(inquiry, parts, signal));
      turn = answer.catch(() => {});
      return answer;
    },
  };
}

/** Whether a person can read what is asked, and type an answer. */
function isAnybodyThere({ stdin, stderr }: QuestionParts["surroundings"]): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && !stdin.readableEnded;
}

/** How to approve the tool by an option, with its name ready to be pasted if a shell needs no escaping for it. */
function howToApprove(tool: string): string {
  return /^[\w.-]+$/.test(tool) ? `pass --approve '${tool}'` : "pass --approve with a pattern for its name";
}
