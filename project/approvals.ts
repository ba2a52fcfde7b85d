/** The questions of a project that wait for a person, and the suspended runs that continue with the answers. */
import type { PendingApproval, PendingApprovals } from "../execution/pending/pending-approvals.ts";
import { answerElsewhere } from "../execution/pending/tickets.ts";
import type { ProgramRequest } from "../execution/run-request.ts";
import type { ResumedRun } from "../execution/suspension/suspended-run.ts";
import { LOCAL_USER } from "./local-user.ts";
import { Refusal } from "./refusal.ts";

const MAX_SHOWN_CHARS = 40;

/**
 * The pending approval whose ticket begins like this, of a principal or of everybody.
 *
 * @throws Refusal when there is none, or more than one.
 */
export async function findPending(
  approvals: Pick<PendingApprovals, "find">,
  beginning: string,
  principal: string | undefined,
): Promise<PendingApproval> {
  const found = await approvals.find(principal, beginning);
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  const shown = beginning.slice(0, MAX_SHOWN_CHARS);
  const what =
    found.length > 1
      ? `${found.length} tickets begin with '${shown}'; give more of it`
      : `no run waits under '${shown}': it was answered and has continued, or it has expired`;
  throw new Refusal(`${what}; see \`ptc approvals list\``);
}

/**
 * Claims a suspended run, to continue it. If nobody has answered its question, asks the person here.
 *
 * @param beginning the first characters of its ticket.
 * @throws Refusal when the run cannot continue.
 */
export async function takeAnswered(
  beginning: string,
  approvals: PendingApprovals,
  asking: Pick<ProgramRequest, "approver" | "signal">,
): Promise<ResumedRun> {
  const pending = await findPending(approvals, beginning, LOCAL_USER.principal);
  if (!pending.isAnswered && !pending.isLive) await askHere(pending, approvals, asking);
  const taken = await approvals.take(LOCAL_USER, pending.ticket);
  switch (taken.kind) {
    case "taken":
      return taken.resumed;
    case "unanswered":
      throw new Refusal(
        `--ticket: nobody has answered yet; run \`ptc approvals approve ${pending.ticket}\` first`,
      );
    case "elsewhere":
      throw new Refusal("--ticket: another process continues this run");
    case "live":
      throw new Refusal(
        `--ticket: this run continues by itself when it has its answer; run \`ptc approvals approve ${pending.ticket}\` instead`,
      );
    case "of_more_groups":
    case "unknown":
      throw new Refusal("--ticket: this run has continued already, or its ticket has expired");
  }
}

/** Asks the person here, until the question is answered elsewhere. The first answer counts. */
async function askHere(
  pending: PendingApproval,
  approvals: PendingApprovals,
  { approver, signal }: Pick<ProgramRequest, "approver" | "signal">,
): Promise<void> {
  const { principal } = LOCAL_USER;
  const request = { ...pending.request, ticket: pending.ticket, isAgain: true };
  const over = new AbortController();
  const asked = approver.ask(request, AbortSignal.any([signal, over.signal]));
  const isAnswered = async () => (await approvals.isAnswered(principal, pending)) || undefined;
  const answer = await Promise.race([
    asked,
    answerElsewhere(isAnswered, over.signal).then(() => undefined),
  ]).finally(() => over.abort());
  if (answer?.isUnasked === true) return;
  if (answer === undefined || !(await approvals.answer(principal, pending, answer)))
    approver.answeredElsewhere?.(request, undefined);
}
