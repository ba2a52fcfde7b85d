import {
  type ApprovalRequest,
  type Approver,
  type CompleteApprover,
  complete,
  countsProven,
  LATER,
  NOT_PROVEN,
  type Proof,
} from "./approvals.ts";
import { withArguments } from "./plan.ts";

/**
 * Wraps every question of one run: to a person, whether a call may be made, and questions of servers; and to the client's model. It receives the approver and
 * returns the methods that it replaces; all others stay unchanged.
 */
export type QuestionInterceptor = (
  next: CompleteApprover,
) => Partial<Pick<CompleteApprover, "ask" | "review" | "elicit" | "sample">>;

/**
 * Wraps an approver in interceptors. The first of the list is the outermost: it sees a question first and its answer last.
 * `execution/interceptors.ts` has the list of a run.
 */
export function interceptQuestions(
  approver: Approver,
  interceptors: readonly (QuestionInterceptor | undefined)[],
): CompleteApprover {
  let next = complete(approver);
  for (const interceptor of interceptors.toReversed())
    if (interceptor !== undefined) next = { ...next, ...interceptor(next) };
  return next;
}

/**
 * Removes from approvals what a person must not see. Questions of servers contain no secrets, because the dispatcher removed them.
 *
 * @param redact removes secrets but not personal data, because a person has to see what they approve.
 */
export function redactQuestions(redact: (args: unknown) => unknown): QuestionInterceptor {
  return (next) => ({
    ask: async (request, signal) => next.ask(redactQuestion(request, redact), signal),
    review: async (request, reviewer, signal) =>
      next.review(redactQuestion(request, redact), reviewer, signal),
  });
}

/** A question whose arguments, and those of its plan, hold nothing that a person must not see. */
export function redactQuestion(
  request: ApprovalRequest,
  redact: (args: unknown) => unknown,
): ApprovalRequest {
  const { plan } = request;
  return {
    ...request,
    arguments: redact(request.arguments),
    ...(plan === undefined ? {} : { plan: withArguments(plan, redact) }),
  };
}

/** Makes approvals count only with this proof. An approver whose answers cannot have it is not asked. */
export function provenOnly(required: Proof["way"]): QuestionInterceptor {
  return (next) => ({
    ask: async (request, signal) =>
      next.provesBy === required
        ? countsProven(await next.ask(request, signal), required)
        : { ...LATER, why: NOT_PROVEN[required] },
  });
}
