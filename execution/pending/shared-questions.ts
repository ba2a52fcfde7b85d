import { settlesWithin } from "../../base/waiting.ts";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  questionDigest,
} from "../../broker/approvals/approvals.ts";
import type { QuestionInterceptor } from "../../broker/approvals/question-interceptors.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { AskingProgram, KeptAnswer, PendingApprovals } from "./pending-approvals.ts";
import { answerElsewhere, newTicket, PendingError } from "./tickets.ts";

/** A question is offered elsewhere only after this time. An option, or a client that cannot ask, answers sooner. */
const GRACE_MS = 100;

/** Tells people of a question that waits. `expiresAt` is absent if its run waits with its sandbox. Never throws. */
export type TellOfQuestion = (
  request: ApprovalRequest,
  where: { ticket: string; expiresAt?: number | undefined },
) => void;

interface SharedQuestionsOptions {
  context: RunContext;
  program: AskingProgram;
  /** Opens the store that `ptc approvals` reads. */
  open: () => Promise<PendingApprovals>;
  /** Called when nobody has answered a question for `tellAfterMs`, if that is set. */
  tell?: TellOfQuestion | undefined;
  tellAfterMs?: number | undefined;
}

/**
 * Lets `ptc approvals` answer approvals too, while the approver waits for its own answer. The first answer counts. The approver is
 * notified when the answer comes from elsewhere. A question that cannot be offered there is asked all the same.
 */
export function shareQuestions(options: SharedQuestionsOptions): QuestionInterceptor {
  return (next) => ({
    async ask(asked, signal) {
      const { ticket = newTicket() } = asked;
      const request = { ...asked, ticket };
      const elsewhere = new AbortController();
      const answer = next.ask(request, AbortSignal.any([signal, elsewhere.signal]));
      if (await settlesWithin(answer, GRACE_MS)) return answer;
      const offer = await offerQuestion(request, options);
      if (offer === undefined) return answer;
      const over = new AbortController();
      const other = offer.given(over.signal);
      const { tell, tellAfterMs } = options;
      const telling =
        tellAfterMs === undefined ? undefined : setTimeout(() => tell?.(request, { ticket }), tellAfterMs);
      try {
        const first = await Promise.race([answer.then(() => undefined), other]);
        const given = first ?? (await offer.withdraw());
        if (given === undefined) {
          const own = await answer;
          return own.decision === "later" ? { ticket, ...own } : own;
        }
        elsewhere.abort();
        next.answeredElsewhere(request, given);
        return given;
      } finally {
        clearTimeout(telling);
        over.abort();
        await offer.withdraw();
      }
    },
  });
}

interface OfferedQuestion {
  /** Resolves with the answer. Never resolves if none comes. */
  given(signal: AbortSignal): Promise<ApprovalAnswer>;
  /** Takes the question back. An answer that came before counts. */
  withdraw(): Promise<ApprovalAnswer | undefined>;
}

async function offerQuestion(
  request: ApprovalRequest & { ticket: string },
  { context, program, open }: SharedQuestionsOptions,
): Promise<OfferedQuestion | undefined> {
  const digest = questionDigest(request);
  const { ticket } = request;
  const answerIn = (kept: KeptAnswer | undefined) => (kept?.digest === digest ? kept.answer : undefined);
  try {
    const approvals = await open();
    await approvals.offer(context, request, program, ticket);
    return {
      given: (signal) => answerElsewhere(async () => answerIn(await approvals.offered(ticket)), signal),
      withdraw: async () => answerIn(await approvals.withdraw(ticket)),
    };
  } catch (error) {
    if (!(error instanceof PendingError)) throw error;
    return undefined;
  }
}
