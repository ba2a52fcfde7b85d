import { type Approver, complete, countsTyped, LATER, NOT_TYPED } from "./approvals.ts";

/**
 * Surrounds every question of one run to a person: whether a call may be made, and what servers ask. It is given what asks, and
 * returns what it does in another way; everything else passes by it.
 */
export type QuestionInterceptor = (
  next: Required<Approver>,
) => Partial<Pick<Required<Approver>, "ask" | "elicit">>;

/**
 * An approver with interceptors around it. The first of the list is the outermost: it sees a question first and its answer
 * last. `execution/interceptors.ts` has the list of a run.
 */
export function interceptQuestions(
  approver: Approver,
  interceptors: readonly (QuestionInterceptor | undefined)[],
): Required<Approver> {
  let next = complete(approver);
  for (const interceptor of interceptors.toReversed())
    if (interceptor !== undefined) next = { ...next, ...interceptor(next) };
  return next;
}

/**
 * Takes out of approvals what a person must not see. What a server asks holds no secrets: the dispatcher has taken them out.
 *
 * @param redact a person has to see what is approved: this takes out secrets, and no personal data.
 */
export function redactQuestions(redact: (args: unknown) => unknown): QuestionInterceptor {
  return (next) => ({
    ask: async (request, signal) => next.ask({ ...request, arguments: redact(request.arguments) }, signal),
  });
}

/** Lets approvals count only when they were typed at a terminal. An approver that has none is not asked in vain. */
export const typedOnly: QuestionInterceptor = (next) => ({
  ask: async (request, signal) =>
    next.asksByTyping ? countsTyped(await next.ask(request, signal)) : { ...LATER, why: NOT_TYPED },
});
