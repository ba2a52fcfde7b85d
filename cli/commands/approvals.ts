import { jsonLine } from "../../base/json.ts";
import { formatDuration } from "../../base/quantities.ts";
import { unmistakableLine } from "../../base/unmistakable-line.ts";
import { visibleLine } from "../../base/visible-text.ts";
import {
  type ApprovalScope,
  approvableCalls,
  DEFAULT_AT_MOST,
  parseScope,
  planAnswer,
  readChosen,
} from "../../broker/approvals/approval-scope.ts";
import {
  isPlanQuestion,
  renderApprovalArguments,
  renderClaims,
  renderOrigins,
  renderPlanNotes,
  renderPlannedCall,
  summarizePlan,
  WHOLE,
} from "../../broker/approvals/approval-text.ts";
import { approvesAny, NOT_PROVEN } from "../../broker/approvals/approvals.ts";
import type { PendingApproval } from "../../execution/pending/pending-approvals.ts";
import { findPending } from "../../project/approvals.ts";
import { LOCAL_USER, localUserName } from "../../project/local-user.ts";
import type { Project } from "../../project/open-project.ts";
import { describePrincipal } from "../../protocol/run-context.ts";
import {
  CONFIG,
  type CommonFlags,
  collect,
  defineGroup,
  EXIT,
  type ExitCode,
  type Surroundings,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { defineProjectCommand } from "../project-command.ts";
import { confirmByTyping, openOwnTerminal } from "../terminal/approver.ts";

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
  const isOfSeveral = waiting.some(({ owner }) => owner.principal !== LOCAL_USER.principal);
  for (const { ticket, owner, request, askedAt, expiresAt, isAnswered, isLive } of waiting) {
    const until = isLive ? "its run waits just now" : `expires in ${formatDuration(expiresAt - now)}`;
    const when = isAnswered
      ? "answered, waits to go on"
      : `asked ${formatDuration(now - askedAt)} ago, ${until}`;
    const whose = isOfSeveral ? `  ${describeOwner(owner)}` : "";
    await write(stdout, `${ticket}  ${visibleLine(request.tool)}${whose}  ${when}\n`);
  }
  for (const line of leftOut) await tell(stderr, line);
  if (waiting.length + leftOut.length === 0) await tell(stderr, "no run waits for an approval");
  return EXIT.done;
}

/** Whose run it is, with the name that a login says. */
function describeOwner(owner: PendingApproval["owner"]): string {
  return visibleLine(describePrincipal(owner));
}

/** A question as JSON. */
function describePending({
  ticket,
  owner,
  request,
  askedAt,
  expiresAt,
  isAnswered,
  isLive,
  source,
  fileName,
}: PendingApproval) {
  return {
    ticket,
    principal: owner.principal,
    principal_name: owner.name ?? null,
    run_id: request.runId,
    source,
    file_name: fileName,
    asked_at: new Date(askedAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    answered: isAnswered,
    /** Whether the run still has its sandbox, and continues by itself with the answer. */
    live: isLive,
    tool: request.tool,
    definition_digest: request.definitionDigest,
    arguments_digest: request.argumentsDigest,
    arguments: request.arguments ?? null,
    /** Why a rule asks about the call. */
    reason: request.reason ?? null,
    /** The origins of its values, one line for each argument. */
    origins: request.origins ?? [],
    /** What the program will change from this call on, if it was rehearsed. */
    plan: request.plan ?? null,
    /** Why the call is not covered by a plan that was approved. */
    differs: request.differs ?? null,
    /** The server's own words about the tool. Nobody has checked them. */
    server_claims: request.claims ?? null,
  };
}

const HOW = "ptc approvals";

interface AnswerFlags extends CommonFlags {
  allCalls?: boolean;
  like?: string[];
  atMost?: string;
  calls?: string;
}

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
      `with --all-calls or --like: how many calls, this one included (default: ${DEFAULT_AT_MOST})`,
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
  const none = ({ request: { plan } }: PendingApproval): ApprovalScope =>
    isPlanQuestion(plan) ? planAnswer(plan, { calls: [] }) : { decision: "denied" };
  return answer(project, ticket, none, flags, surroundings);
}

async function answer(
  project: Project,
  beginning: string,
  scopeOf: (pending: PendingApproval) => ApprovalScope,
  flags: AnswerFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const { require } = project.configuration.approvals;
  const approvals = await project.pendingApprovals();
  const pending = await findPending(approvals, beginning, undefined);
  const scope = scopeOf(pending);
  const approves = approvesAny(scope);
  if (approves && require === "passkey") throw new UsageError(`approve: ${NOT_PROVEN.passkey}`);
  const isTyped = approves && require === "terminal";
  if (isTyped && !(await approveByTyping(pending, surroundings))) {
    await tell(stderr, `${pending.ticket} was not approved, and waits as before`);
    return EXIT.failed;
  }
  const isFirst = await approvals.answer(pending.owner.principal, pending, {
    ...scope,
    by: localUserName(),
    how: HOW,
    ...(isTyped ? { proof: { way: "terminal" } } : {}),
  });
  const { ticket } = pending;
  if (flags.json === true) {
    await write(stdout, `${jsonLine({ ticket, decision: scope.decision, counts: isFirst })}\n`);
  } else if (isFirst) {
    await write(stdout, renderPending({ ...pending, isAnswered: true }));
    const byWhom =
      pending.owner.principal === LOCAL_USER.principal
        ? `\`ptc run --ticket ${ticket}\` continues the run, or its client does`
        : "its client continues the run, with the ticket";
    const next = pending.isLive ? "its run goes on" : byWhom;
    await tell(stderr, `${approves ? "approved" : "denied"}; ${next}`);
  }
  if (isFirst) return EXIT.done;
  await tell(stderr, `${ticket} was answered before, and the first answer counts`);
  return EXIT.failed;
}

/** Shows a call at the terminal of this process, where its approval must be typed. @throws UsageError without a terminal. */
async function approveByTyping(pending: PendingApproval, surroundings: Surroundings): Promise<boolean> {
  const own = openOwnTerminal(surroundings);
  if (own === undefined) throw new UsageError(`approve: ${NOT_PROVEN.terminal}, and there is none here`);
  try {
    await write(own.surroundings.stderr, renderPending(pending));
    return await confirmByTyping(own, () => {}, new AbortController().signal);
  } finally {
    own.close();
  }
}

/** The scope that the flags give for a call. This function and the returned one throw UsageError for invalid flags. */
function chooseScope({
  allCalls,
  like = [],
  atMost,
  calls: numbers,
}: AnswerFlags): (pending: PendingApproval) => ApprovalScope {
  const isOfTool = allCalls === true || like.length > 0;
  if (isOfTool && numbers !== undefined)
    throw new UsageError("--calls and --all-calls or --like do not go together");
  if (allCalls === true && like.length > 0) throw new UsageError("--all-calls and --like do not go together");
  if (allCalls !== true && like.length === 0) {
    if (atMost !== undefined) throw new UsageError("--at-most goes with --all-calls or --like");
    return ({ request: { plan } }) => {
      if (!isPlanQuestion(plan)) {
        if (numbers !== undefined)
          throw new UsageError("--calls: this question has no plan of several calls");
        return { decision: "once" };
      }
      const chosen = readChosen(numbers ?? "all", plan);
      if (chosen !== undefined) return planAnswer(plan, chosen);
      throw new UsageError(
        `--calls: '${visibleLine(numbers ?? "")}' names no calls that can be approved; these can: ${approvableCalls(plan).join(", ")}`,
      );
    };
  }
  return ({ request }) => {
    const calls = allCalls === true ? "all" : "like";
    const read = parseScope({ calls, except: like, atMost }, request.arguments);
    if (read.ok) return read.scope;
    throw new UsageError(`--${read.of}: ${read.why}`);
  };
}

/** A question for the terminal: ptc's words, then the call and the server's claims about the tool, quoted line by line. */
function renderPending({
  ticket,
  owner,
  request,
  askedAt,
  expiresAt,
  isAnswered,
  fileName,
  isLive,
}: PendingApproval): string {
  const { tool, runId, reason, claims, plan, differs } = request;
  const claimed = renderClaims(claims);
  const waits = isLive ? "its run waits for an answer just now" : "waits for an answer";
  const state = isAnswered ? "answered; the run has not continued yet" : waits;
  return [
    `Ticket ${ticket}: ${state}`,
    `Run ${runId} of ${visibleLine(fileName)}${owner.principal === LOCAL_USER.principal ? "" : `, for ${describeOwner(owner)}`}, asked ${new Date(askedAt).toISOString()}${isLive ? "" : `, expires ${new Date(expiresAt).toISOString()}`}`,
    "The program wants to call",
    ...quote(unmistakableLine(tool)),
    "with",
    ...quote(renderApprovalArguments(request.arguments, WHOLE)),
    ...(differs === undefined ? [] : [`It is not what was approved: ${unmistakableLine(differs)}`]),
    ...(isPlanQuestion(plan)
      ? [
          `It is the first of ${summarizePlan(plan)}`,
          ...plan.calls.flatMap((_, index) => renderPlannedCall(plan, index + 1)).flatMap(quote),
        ]
      : []),
    ...(plan === undefined ? [] : renderPlanNotes(plan)),
    ...(reason === undefined ? [] : [`It is asked about because ${unmistakableLine(reason)}`]),
    ...renderOrigins(request.origins ?? []),
    ...(claimed === undefined ? [] : [claimed.heading, ...claimed.said.flatMap(quote)]),
    "",
  ].join("\n");
}

function quote(text: string): string[] {
  return text.split("\n").map((line) => `│ ${line}`);
}
