import type { Approver } from "../../../broker/approvals/approvals.ts";
import type { ExecutedProgram } from "../../../execution/execute-program.ts";
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
  if (!pending.isAnswered) {
    const answer = await options.approver.ask({ ...pending.request, ticket: pending.ticket }, options.signal);
    if (answer.isUnasked !== true) approvals.answer(principal, pending, answer);
  }
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
    case "unknown":
      throw new UsageError("--ticket: this run went on already, or its ticket has expired");
  }
}
