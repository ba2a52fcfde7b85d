import { untilAborted } from "../base/waiting.ts";
import type { Approver } from "../broker/approvals/approvals.ts";
import { NOT_ASKED } from "../broker/elicitation/elicitation.ts";
import type { Redactor } from "../secrets/redaction.ts";
import type { TimeLimit } from "./time-limit.ts";

/**
 * Wraps the approver. While a person is asked, the program and its time limit are paused. Questions hold no secrets.
 *
 * @param asking redacts questions, if other than the rest: a person has to see what is to be approved.
 */
export function askPeople(
  {
    approver,
    redactor,
    asking = redactor,
  }: { approver: Approver; redactor: Redactor; asking?: Redactor | undefined },
  timeLimit: TimeLimit,
): Approver {
  return {
    async ask(request, signal) {
      timeLimit.open();
      try {
        const args = asking.redactValue(request.arguments).value;
        return await approver.ask({ ...request, arguments: args }, signal);
      } finally {
        timeLimit.close();
      }
    },
    canVisit: () => approver.canVisit?.() === true,
    // The broker has taken the secrets out of it.
    async elicit(elicitation, signal) {
      if (approver.elicit === undefined) return NOT_ASKED;
      timeLimit.open();
      try {
        const answer = await approver.elicit(elicitation, signal);
        const visited =
          elicitation.mode === "url" && answer.action === "accept" ? elicitation.visited : undefined;
        await untilAborted(Promise.resolve(visited?.catch(() => {})), signal);
        return answer;
      } finally {
        timeLimit.close();
      }
    },
  };
}
