import { jsonLine } from "../../base/json.ts";
import {
  answerPending,
  chooseScope,
  describePending,
  findPending,
  renderPending,
  renderWaiting,
  type ScopeFlags,
  USUAL_AT_MOST,
} from "../../project/approvals.ts";
import type { Project } from "../../project/open-project.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  collect,
  defineGroup,
  EXIT,
  type ExitCode,
  tell,
  write,
} from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";

/** `ptc approvals ...`: runs that wait for a person. */
export const approvalsCommand = defineGroup(
  "approvals",
  () => [defineListApprovals, defineShowApproval, defineApprove, defineDeny],
  (command) =>
    command
      .description("show and answer the questions that runs wait for, suspended ones and others")
      .addHelpText("after", "\nExample:\n  ptc approvals list\n  ptc approvals approve 3f9a2c\n"),
);

/** `ptc approvals show` */
const defineShowApproval = defineProjectCommand("show", show, (command) =>
  command
    .description(
      "show what a run waits for: the call with all of its arguments, and what its server says of the tool",
    )
    .argument("<ticket>", "its ticket, or the beginning of it")
    .option(...CONFIG)
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExample:\n  ptc approvals show 3f9a2c\n"),
);

async function show(
  project: Project,
  ticket: string,
  flags: CommonFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const pending = await findPending(await project.pendingApprovals(), ticket, undefined);
  const text = flags.json === true ? `${jsonLine(describePending(pending))}\n` : renderPending(pending);
  await write(surroundings.stdout, text);
  return EXIT.done;
}

/** `ptc approvals list` */
const defineListApprovals = defineProjectCommand("list", list, (command) =>
  command
    .description("list the questions about calls that runs of everybody wait for, the oldest first")
    .option(...CONFIG)
    .option("--principal <name>", "those of runs on this principal's behalf")
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc approvals list --json | jq -r '.[].ticket'\n"),
);

async function list(
  project: Project,
  flags: CommonFlags & { principal?: string },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const leftOut: string[] = [];
  const approvals = await project.pendingApprovals();
  if (flags.json === true) {
    const whole: object[] = [];
    for await (const pending of approvals.whole(flags.principal, (line) => leftOut.push(line)))
      whole.push(describePending(pending));
    for (const line of leftOut) await tell(stderr, line);
    await write(stdout, `${jsonLine(whole)}\n`);
    return EXIT.done;
  }
  const waiting = await approvals.list(flags.principal, (line) => leftOut.push(line));
  const now = Date.now();
  await write(stdout, renderWaiting(waiting, now));
  for (const line of leftOut) await tell(stderr, line);
  if (waiting.length + leftOut.length === 0) await tell(stderr, "no run waits for an approval");
  return EXIT.done;
}

type AnswerFlags = CommonFlags & ScopeFlags;

/** `ptc approvals approve` */
const defineApprove = defineProjectCommand("approve", approve, (command) =>
  command
    .description(
      "approve the call that a run waits for; the run continues at once, or if it was suspended, when its client or `ptc run --ticket` asks for it",
    )
    .argument("<ticket>", "its ticket, or the beginning of it")
    .option(
      "--calls <numbers>",
      "of a plan: which of its calls, such as 1-4,6, or all, which is the default; the others are denied",
    )
    .option("--all-calls", "also all further calls of this tool in this run")
    .option(
      "--like <name=pattern>",
      "also further calls with the same arguments, but for this one, which may be anything that matches (repeatable; * is a wildcard)",
      collect,
      [],
    )
    .option(
      "--at-most <calls>",
      `with --all-calls or --like: how many calls, this one included (default: ${USUAL_AT_MOST})`,
    )
    .option(...CONFIG)
    .option("--json", "print what came of it as JSON")
    .addHelpText("after", "\nExample:\n  ptc approvals approve 3f9a2c --like 'path=/tmp/*' --at-most 20\n"),
);

async function approve(
  project: Project,
  ticket: string,
  flags: AnswerFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  return answer(project, ticket, chooseScope(flags), flags, surroundings);
}

/** `ptc approvals deny` */
const defineDeny = defineProjectCommand("deny", deny, (command) =>
  command
    .description("deny the call that a run waits for; its program learns of it when it continues")
    .argument("<ticket>", "its ticket, or the beginning of it")
    .option(...CONFIG)
    .option("--json", "print what came of it as JSON")
    .addHelpText("after", "\nExample:\n  ptc approvals deny 3f9a2c\n"),
);

function deny(
  project: Project,
  ticket: string,
  flags: AnswerFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  return answer(project, ticket, "deny", flags, surroundings);
}

async function answer(
  project: Project,
  beginning: string,
  choice: Parameters<typeof answerPending>[2],
  { json }: CommonFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const answered = await answerPending(project, beginning, choice, surroundings);
  const { pending, decision } = answered;
  const { ticket } = pending;
  if (decision === undefined) {
    await tell(stderr, `${ticket} was not approved, and waits as before`);
    return EXIT.failed;
  }
  const { approves, isFirst, next } = answered;
  if (json === true) await write(stdout, `${jsonLine({ ticket, decision, counts: isFirst })}\n`);
  else if (isFirst) {
    await write(stdout, renderPending({ ...pending, isAnswered: true }));
    await tell(stderr, `${approves ? "approved" : "denied"}; ${next}`);
  }
  if (isFirst) return EXIT.done;
  await tell(stderr, `${ticket} was answered before, and the first answer counts`);
  return EXIT.failed;
}
