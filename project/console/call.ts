import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import { UNASKED } from "../../broker/approvals/approvals.ts";
import type { TriedCall } from "../../console/parts.ts";
import type { DirectCall } from "../../execution/run-request.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { Host } from "../host.ts";

/** Makes one call for somebody who tries a tool in the console. Nobody is asked, so that what needs an approval is not called. Never rejects. */
export async function callForConsole(
  host: Pick<Host, "call">,
  context: RunContext,
  call: DirectCall,
  signal: AbortSignal,
): Promise<TriedCall> {
  try {
    const { envelope, recorded } = await host.call({
      call,
      context,
      signal,
      approver: { ask: async () => UNASKED },
    });
    const problem = await recorded;
    return problem === undefined
      ? { runId: envelope.run_id }
      : { why: `The call was made, and ${oneLine(problem, 1_000)}` };
  } catch (error) {
    return { why: `Nothing was called: ${oneLine(messageOf(error), 1_000)}` };
  }
}
