import type { Approver } from "../../../broker/approvals/approvals.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-program.ts";
import { answerElsewhere } from "../../../host/approvals/answer-elsewhere.ts";
import type { PendingApproval, PendingApprovals } from "../../../host/approvals/pending-approvals.ts";
import type { Host } from "../../../host/host.ts";
import { UsageError } from "../../exit-code.ts";
import { LOCAL_USER } from "../../local-user.ts";
import { findPending } from "./find-pending.ts";

type Options = Parameters<Extract<Awaited<ReturnType<Host["takeSuspended"]>>, { kind: "taken" }>["goOn"]>[0];

/**
 * Goes on with a suspended run. A question that nobody has answered is put to whoever is there.
 *
 * @param beginning that of its ticket.
 * @throws UsageError when it cannot go on.
 */
export async function goOnWith(
  beginning: string,
  host: Pick<Host, "takeSuspended" | "pendingApprovals">,
  options: Options & { approver: Approver },
): Promise<ExecutedProgram> {
  const { principal } = LOCAL_USER;
  const approvals = await host.pendingApprovals();
  const pending = findPending(approvals, beginning);
  if (!pending.isAnswered && !pending.isLive) await askHere(pending, approvals, options);
  const taken = await host.takeSuspended(principal, pending.ticket);
  switch (taken.kind) {
    case "taken":
      return taken.goOn(options);
    case "unanswered":
      throw new UsageError(
        `--ticket: nobody has answered yet; run \`ptc approvals approve ${pending.ticket}\` first`,
      );
    case "elsewhere":
      throw new UsageError("--ticket: another process goes on with this run");
    case "live":
      throw new UsageError(
        `--ticket: this run goes on by itself when it has its answer; run \`ptc approvals approve ${pending.ticket}\` instead`,
      );
    case "unknown":
      throw new UsageError("--ticket: this run went on already, or its ticket has expired");
  }
}

/** Puts the question to whoever is here, until it is answered by another way. The first answer counts. */
async function askHere(
  pending: PendingApproval,
  approvals: PendingApprovals,
  { approver, signal }: Pick<Options, "approver" | "signal">,
): Promise<void> {
  const { principal } = LOCAL_USER;
  const request = { ...pending.request, ticket: pending.ticket, isAgain: true };
  const over = new AbortController();
  const asked = approver.ask(request, AbortSignal.any([signal, over.signal]));
  const isAnswered = () => approvals.find(principal, pending.ticket)[0]?.isAnswered !== false || undefined;
  const answer = await Promise.race([
    asked,
    answerElsewhere(isAnswered, over.signal).then(() => undefined),
  ]).finally(() => over.abort());
  if (answer?.isUnasked === true) return;
  if (answer === undefined || !approvals.answer(principal, pending, answer))
    approver.outrun?.(request, undefined);
}
