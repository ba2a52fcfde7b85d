import { jsonLine } from "../../../base/json/json-line.ts";
import { visibleLine } from "../../../base/text/visible-text.ts";
import { formatDuration } from "../../../host/run-report/quantities.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode } from "../../exit-code.ts";
import { LOCAL_USER } from "../../local-user.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { describePending } from "./describe-pending.ts";
import { withApprovals } from "./open-approvals.ts";

interface ListFlags {
  config?: string;
  json?: boolean;
}

/** `ptc approvals list` */
export const defineListApprovals: DefineCommand = (approvals, surroundings, finish) => {
  approvals
    .command("list")
    .description("list the questions about calls that runs wait for, the oldest first")
    .option("--config <file>", "configuration file")
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc approvals list --json | jq -r '.[].ticket'\n")
    .action(async (flags: ListFlags) => {
      finish(await list(flags, surroundings));
    });
};

async function list(flags: ListFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const waiting = await withApprovals(flags, surroundings, (approvals) =>
    approvals.list(LOCAL_USER.principal),
  );
  if (flags.json === true) {
    await write(stdout, `${jsonLine(waiting.map(describePending))}\n`);
    return EXIT.done;
  }
  const now = Date.now();
  for (const { ticket, request, askedAt, expiresAt, isAnswered, isLive } of waiting) {
    const until = isLive ? "its run waits just now" : `expires in ${formatDuration(expiresAt - now)}`;
    const when = isAnswered
      ? "answered, waits to go on"
      : `asked ${formatDuration(now - askedAt)} ago, ${until}`;
    await write(stdout, `${ticket}  ${visibleLine(request.tool)}  ${when}\n`);
  }
  if (waiting.length === 0) await write(stderr, "ptc: no run waits for an approval\n");
  return EXIT.done;
}
