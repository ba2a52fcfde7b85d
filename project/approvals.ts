/** The questions of a project that wait for a person, and the suspended runs that continue with the answers. */

import { formatDuration } from "../base/quantities.ts";
import { unmistakableLine } from "../base/unmistakable-line.ts";
import { visibleLine } from "../base/visible-text.ts";
import {
  type ApprovalScope,
  approvableCalls,
  DEFAULT_AT_MOST,
  parseScope,
  planAnswer,
  readChosen,
} from "../broker/approvals/approval-scope.ts";
import {
  isPlanQuestion,
  renderApprovalArguments,
  renderClaims,
  renderOrigins,
  renderPlanNotes,
  renderPlannedCall,
  summarizePlan,
  WHOLE,
} from "../broker/approvals/approval-text.ts";
import { approvesAny, NOT_PROVEN } from "../broker/approvals/approvals.ts";
import type { PendingApproval, PendingApprovals } from "../execution/pending/pending-approvals.ts";
import { answerElsewhere } from "../execution/pending/tickets.ts";
import type { ProgramRequest } from "../execution/run-request.ts";
import type { ResumedRun } from "../execution/suspension/suspended-run.ts";
import { describePrincipal } from "../protocol/run-context.ts";
import { LOCAL_USER, localUserName } from "./local-user.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";
import type { Surroundings } from "./surroundings.ts";
import { confirmByTyping, openOwnTerminal } from "./terminal/approver.ts";
import { writeWhole } from "./terminal/output.ts";

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

/** A question that was answered, or not: `decision` is `undefined` if the person did not confirm the approval by typing. */
interface AnsweredPending {
  pending: PendingApproval;
  decision: ApprovalScope["decision"] | undefined;
  approves: boolean;
  /** Whether this answer counts: nobody had answered before. */
  isFirst: boolean;
  /** How the run goes on, for people. */
  next: string;
}

/**
 * Answers the question whose ticket begins like this, as the person at this machine. Where an approval needs a typed word, asks for it at
 * the terminal of this process.
 *
 * @param choice the scope of the approval, or `deny`.
 * @throws Refusal when there is no such question, its approval needs a passkey, or there is no terminal to type at; PendingError
 */
export async function answerPending(
  project: Project,
  beginning: string,
  choice: "deny" | ((pending: PendingApproval) => ApprovalScope),
  surroundings: Surroundings,
): Promise<AnsweredPending> {
  const { require } = project.configuration.approvals;
  const approvals = await project.pendingApprovals();
  const pending = await findPending(approvals, beginning, undefined);
  const scope = choice === "deny" ? denialOf(pending) : choice(pending);
  const approves = approvesAny(scope);
  if (approves && require === "passkey") throw new Refusal(`approve: ${NOT_PROVEN.passkey}`);
  const isTyped = approves && require === "terminal";
  if (isTyped && !(await approveByTyping(pending, surroundings)))
    return { pending, decision: undefined, approves, isFirst: false, next: "" };
  const isFirst = await approvals.answer(pending.owner.principal, pending, {
    ...scope,
    by: localUserName(),
    how: "ptc approvals",
    ...(isTyped ? { proof: { way: "terminal" } } : {}),
  });
  const byWhom =
    pending.owner.principal === LOCAL_USER.principal
      ? `\`ptc run --ticket ${pending.ticket}\` continues the run, or its client does`
      : "its client continues the run, with the ticket";
  return {
    pending,
    decision: scope.decision,
    approves,
    isFirst,
    next: pending.isLive ? "its run goes on" : byWhom,
  };
}

function denialOf({ request: { plan } }: PendingApproval): ApprovalScope {
  return isPlanQuestion(plan) ? planAnswer(plan, { calls: [] }) : { decision: "denied" };
}

/** Shows a call at the terminal of this process, where its approval must be typed. @throws Refusal without a terminal. */
async function approveByTyping(pending: PendingApproval, surroundings: Surroundings): Promise<boolean> {
  const own = openOwnTerminal(surroundings);
  if (own === undefined) throw new Refusal(`approve: ${NOT_PROVEN.terminal}, and there is none here`);
  try {
    await writeWhole(own.surroundings.stderr, renderPending(pending));
    return await confirmByTyping(own, () => {}, new AbortController().signal);
  } finally {
    own.close();
  }
}

/** How many calls an approval of several covers where its flags give no number. */
export const USUAL_AT_MOST = DEFAULT_AT_MOST;

/** The flags of an approval: which of a plan's calls, and which later calls it covers too. */
export interface ScopeFlags {
  calls?: string;
  allCalls?: boolean;
  like?: string[];
  atMost?: string;
}

/** The scope that the flags give for a call. This function and the returned one throw a Refusal for flags that do not fit. */
export function chooseScope({
  allCalls,
  like = [],
  atMost,
  calls: numbers,
}: ScopeFlags): (pending: PendingApproval) => ApprovalScope {
  const isOfTool = allCalls === true || like.length > 0;
  if (isOfTool && numbers !== undefined)
    throw new Refusal("--calls and --all-calls or --like do not go together");
  if (allCalls === true && like.length > 0) throw new Refusal("--all-calls and --like do not go together");
  if (allCalls !== true && like.length === 0) {
    if (atMost !== undefined) throw new Refusal("--at-most goes with --all-calls or --like");
    return ({ request: { plan } }) => {
      if (!isPlanQuestion(plan)) {
        if (numbers !== undefined) throw new Refusal("--calls: this question has no plan of several calls");
        return { decision: "once" };
      }
      const chosen = readChosen(numbers ?? "all", plan);
      if (chosen !== undefined) return planAnswer(plan, chosen);
      throw new Refusal(
        `--calls: '${visibleLine(numbers ?? "")}' names no calls that can be approved; these can: ${approvableCalls(plan).join(", ")}`,
      );
    };
  }
  return ({ request }) => {
    const calls = allCalls === true ? "all" : "like";
    const read = parseScope({ calls, except: like, atMost }, request.arguments);
    if (read.ok) return read.scope;
    throw new Refusal(`--${read.of}: ${read.why}`);
  };
}

/** Renders questions that wait, one line each. The owners are named where not all runs are of the person at this machine. */
export function renderWaiting(waiting: Awaited<ReturnType<PendingApprovals["list"]>>, nowMs: number): string {
  const isOfSeveral = waiting.some(({ owner }) => owner.principal !== LOCAL_USER.principal);
  return waiting
    .map(({ ticket, owner, request, askedAt, expiresAt, isAnswered, isLive }) => {
      const until = isLive ? "its run waits just now" : `expires in ${formatDuration(expiresAt - nowMs)}`;
      const when = isAnswered
        ? "answered, waits to go on"
        : `asked ${formatDuration(nowMs - askedAt)} ago, ${until}`;
      const whose = isOfSeveral ? `  ${describeOwner(owner)}` : "";
      return `${ticket}  ${visibleLine(request.tool)}${whose}  ${when}\n`;
    })
    .join("");
}

/** Whose run it is, with the name that a login says. */
function describeOwner(owner: PendingApproval["owner"]): string {
  return visibleLine(describePrincipal(owner));
}

/** A question as JSON. */
export function describePending({
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

/** A question for the terminal: ptc's words, then the call and the server's claims about the tool, quoted line by line. */
export function renderPending({
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
