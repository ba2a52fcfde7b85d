import { setTimeout as delay } from "node:timers/promises";
import { oneLine } from "../../../base/text/one-line.ts";
import type { ApprovalAnswer } from "../../../broker/approvals/approvals.ts";
import type { PendingApproval } from "../../../execution/pending/pending-approvals.ts";
import { PendingError } from "../../../execution/pending/pending-error.ts";
import type { SuspendedPrograms, TakenProgram } from "../../../execution/program-runner.ts";
import { parseApprovalAnswer } from "../questions/approval-question.ts";
import type { ClientClaim } from "../questions/asked-client.ts";
import type { Question } from "../questions/questions.ts";
import { errorReply, type ToolReply } from "../tools/reply.ts";

/** How the person at the client of a request is asked, as `ProgramRequest` has it. */
interface Asking {
  signal: AbortSignal;
  canAsk: boolean;
  client?: ClientClaim | undefined;
  ask?: ((question: Question, signal: AbortSignal) => Promise<unknown>) | undefined;
}

/** How long a request waits for an answer that comes by another way. Shorter than clients wait for a reply. */
const WAIT_MS = 20_000;
const POLL_MS = 500;

export const OVER = "the program that asked is over; `ptc runs list` has what it did, before it is run again";

/** A run that can go on, a question for the client, or what the client is told instead. */
export type Continued =
  | Extract<TakenProgram, { kind: "taken" }>
  | { kind: "question"; question: Question }
  | { kind: "reply"; reply: ToolReply };

/**
 * Takes a suspended run once its question is answered: by the client's response, by whoever is asked now, or meanwhile by
 * somebody else. The first answer counts.
 *
 * @param given `response` answers a form that offered further calls if `offered` says so.
 */
export async function takeAnswered(
  suspended: SuspendedPrograms,
  principal: string,
  ticket: string,
  { response, offered = false, request }: { response?: unknown; offered?: boolean; request: Asking },
): Promise<Continued> {
  try {
    let taken = await suspended.take(principal, ticket);
    if (taken.kind === "unanswered") {
      const { pending } = taken;
      const answer =
        response === undefined
          ? undefined
          : parseApprovalAnswer(response, { ...pending.request, isAgain: offered }, request.client);
      if (answer !== undefined && answer.decision !== "later")
        await suspended.answer(principal, pending, answer);
      else if (answer !== undefined) return reply(describeWaiting(pending));
      else if (request.canAsk && request.ask === undefined)
        return { kind: "question", question: questionOf(pending) };
      else await waitForAnswer(suspended, principal, pending, request);
      taken = await suspended.take(principal, ticket);
    }
    switch (taken.kind) {
      case "taken":
        return taken;
      case "unanswered":
        return reply(describeWaiting(taken.pending));
      case "live":
        return reply(describeLive(taken.pending));
      case "elsewhere":
        return reply("this program goes on in another process; see `ptc runs list`");
      case "unknown":
        return reply(OVER);
    }
  } catch (error) {
    if (!(error instanceof PendingError)) throw error;
    return reply(oneLine(error.message));
  }
}

/** Asks the person at the client, where it can ask, until anybody has answered or the request waits no longer. */
async function waitForAnswer(
  suspended: SuspendedPrograms,
  principal: string,
  pending: PendingApproval,
  request: Asking,
): Promise<void> {
  const answered = new AbortController();
  const signal = AbortSignal.any([request.signal, answered.signal]);
  const question = questionOf(pending);
  let isAsking = request.canAsk && request.ask !== undefined;
  request.canAsk &&
    request.ask?.(question, signal).then(
      async (response) => {
        const answer = parseApprovalAnswer(response, question.request, request.client);
        // Whoever is not at the client may be at a terminal.
        if (answer.decision === "later") isAsking = false;
        else {
          await suspended.answer(principal, pending, answer);
          answered.abort();
        }
      },
      () => answered.abort(),
    );
  const until = performance.now() + WAIT_MS;
  while (!signal.aborted && (isAsking || performance.now() < until)) {
    await delay(POLL_MS, undefined, { signal }).catch(() => {});
    if (!signal.aborted && (await suspended.isAnswered(principal, pending))) answered.abort();
  }
}

function questionOf({ request, ticket }: PendingApproval): Extract<Question, { kind: "approval" }> {
  const withdrawn = new AbortController().signal;
  return {
    kind: "approval",
    request: { ...request, ticket, isAgain: true },
    withdrawn,
    answer: (_: ApprovalAnswer) => {},
  };
}

function reply(message: string): Continued {
  return { kind: "reply", reply: errorReply(message) };
}

function describeWaiting({ ticket, request }: PendingApproval): string {
  return `nobody has answered yet whether ${oneLine(request.tool)} may be called: \`ptc approvals approve ${ticket}\` in a terminal; then call execute_program with this ticket again`;
}

function describeLive({ ticket, request }: PendingApproval): string {
  return `this program waits for an answer whether ${oneLine(request.tool)} may be called, and goes on by itself then: \`ptc approvals approve ${ticket}\` (or deny) in a terminal; what it comes to goes to whoever started it, and into \`ptc runs list\``;
}
