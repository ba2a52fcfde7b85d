import { visibleLine } from "../../base/visible-text.ts";
import type { ApprovalScope } from "../../broker/approvals/approval-scope.ts";
import { describeAnswerElsewhere } from "../../broker/approvals/approval-text.ts";
import {
  type ApprovalRequest,
  type Approver,
  LATER,
  NOT_TYPED,
  UNASKED,
} from "../../broker/approvals/approvals.ts";
import { NOT_ASKED } from "../../broker/elicitation/elicitation.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";
import { UsageError } from "../exit-code.ts";
import { localUserName } from "../local-user.ts";
import { confirmByTyping, type OwnTerminal, openOwnTerminal } from "./own-terminal.ts";
import { ProgramConsole } from "./program-console.ts";
import { elicitOnTerminal } from "./terminal-elicitation.ts";
import { askOnTerminal, type QuestionParts } from "./terminal-question.ts";

/** How many bytes the console of a question bounds: what is drawn there is bounded by itself. */
const QUESTION_BYTES = 1_048_576;

/** @throws UsageError for patterns where only what is typed at a terminal approves a call. */
export function refusePatterns(
  patterns: readonly string[],
  { approvals }: Pick<Configuration, "approvals">,
): void {
  if (approvals.require === "terminal" && patterns.length > 0)
    throw new UsageError(`--approve: ${NOT_TYPED}`);
}

/**
 * The approver of the command line. Approves calls whose tool matches an `--approve` pattern. For other calls it asks on the
 * terminal, one question at a time; without a terminal it denies them. Questions of servers are put on the terminal too.
 *
 * @param parts `require`: with `terminal`, approvals are asked for and typed at the terminal of this process itself, whatever its
 * standard streams are, and patterns approve nothing.
 */
export function buildApprover(
  patterns: readonly string[],
  parts: QuestionParts & { suspends?: boolean | undefined; require?: "any" | "terminal" | undefined },
): Approver {
  const { console, surroundings, suspends = false } = parts;
  let turn: Promise<unknown> = Promise.resolve();
  const how = () => `typed at a terminal of user ${localUserName()}`;
  const isTyped = parts.require === "terminal";
  return {
    asksByTyping: isTyped,
    async ask(request, signal) {
      if (isTyped) {
        const own = openOwnTerminal(surroundings);
        if (own !== undefined) {
          const answer = turn
            .then(() => askAndConfirm(own, request, parts, signal))
            .finally(() => own.close());
          turn = answer.catch(() => {});
          const scope = await answer;
          return {
            ...scope,
            by: "terminal",
            how: how(),
            ...(scope.decision === "denied" ? {} : { isTyped }),
          };
        }
        if (suspends) return LATER;
        console.tell(`ptc: ${visibleLine(request.tool)} was denied: ${NOT_TYPED}, and there is none here`);
        return { ...UNASKED, why: `${NOT_TYPED}, and there is none here` };
      }
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
        how: how(),
      };
    },
    answeredElsewhere({ tool }, answer) {
      console.tell(`ptc: ${visibleLine(tool)}: ${describeAnswerElsewhere(answer)}`);
    },
    async elicit(elicitation, signal) {
      if (!isAnybodyThere(surroundings)) return NOT_ASKED;
      const answer = turn.then(() => elicitOnTerminal(elicitation, parts, signal));
      turn = answer.catch(() => {});
      return answer;
    },
  };
}

/** Asks at the terminal of this process, while all else that is printed waits, and has an approval typed again. */
async function askAndConfirm(
  own: OwnTerminal,
  request: ApprovalRequest,
  parts: QuestionParts,
  signal: AbortSignal,
): Promise<ApprovalScope> {
  parts.console.hold();
  try {
    const console = new ProgramConsole(own.surroundings, QUESTION_BYTES);
    const scope = await askOnTerminal(request, { ...parts, console, surroundings: own.surroundings }, signal);
    if (scope.decision === "denied") return scope;
    return (await confirmByTyping(own, parts.onInterrupt, signal)) ? scope : { decision: "denied" };
  } finally {
    parts.console.release();
  }
}

/** Whether a person can read what is asked, and type an answer. */
function isAnybodyThere({ stdin, stderr }: QuestionParts["surroundings"]): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && !stdin.readableEnded;
}

/** How to approve the tool by an option, with its name ready to be pasted if a shell needs no escaping for it. */
function howToApprove(tool: string): string {
  return /^[\w.-]+$/.test(tool) ? `pass --approve '${tool}'` : "pass --approve with a pattern for its name";
}
