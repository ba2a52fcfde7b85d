import { jsonLine } from "../../../base/json/json-line.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT } from "../../exit-code.ts";
import { write } from "../../surroundings.ts";
import { describePending } from "./describe-pending.ts";
import { findPending } from "./find-pending.ts";
import { withApprovals } from "./open-approvals.ts";
import { renderPending } from "./render-pending.ts";

/** `ptc approvals show` */
export const defineShowApproval: DefineCommand = (approvals, surroundings, finish) => {
  approvals
    .command("show")
    .description(
      "show what a run waits for: the call with all of its arguments, and what its server says of the tool",
    )
    .argument("<ticket>", "its ticket, or the beginning of it")
    .option("--config <file>", "configuration file")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  ptc approvals show 3f9a2c\n")
    .action(async (ticket: string, flags: { config?: string; json?: boolean }) => {
      const pending = await withApprovals(flags, surroundings, (open) => findPending(open, ticket));
      const text = flags.json === true ? `${jsonLine(describePending(pending))}\n` : renderPending(pending);
      await write(surroundings.stdout, text);
      finish(EXIT.done);
    });
};
