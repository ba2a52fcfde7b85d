import type { PendingApproval, PendingApprovals } from "../../execution/pending/pending-approvals.ts";
import { UsageError } from "../command.ts";

const MAX_SHOWN_CHARS = 40;

/**
 * The pending approval whose ticket begins like this, of a principal or of everybody.
 *
 * @throws UsageError when there is none, or more than one.
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
  throw new UsageError(`${what}; see \`ptc approvals list\``);
}
