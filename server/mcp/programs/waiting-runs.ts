import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { oneLine } from "../../../base/visible-text.ts";
import { whenAborted } from "../../../base/waiting.ts";
import { type ApprovalAnswer, LATER } from "../../../broker/approvals/approvals.ts";
import type { PendingApproval, TakenRun } from "../../../execution/pending/pending-approvals.ts";
import { PendingError } from "../../../execution/pending/tickets.ts";
import type { SuspendedPrograms } from "../../../execution/run-request.ts";
import { type Identified, owns, wayOf } from "../../../protocol/run-context.ts";
import { parseApprovalAnswer, type Question } from "../elicitation.ts";
import { renderTicket } from "../tools/own-tools.ts";
import { errorReply, type ToolReply, textReply } from "../tools/reply.ts";
import type { ClientConnection, ClientRequest } from "./client-request.ts";
import type { LiveRun } from "./live-run.ts";

/** How long a run keeps its sandbox for the answer to a question that the client was given. */
const PATIENCE_MS = 60_000;
/** How long a run that cannot be suspended keeps its sandbox. ptc then cancels the run. */
const LAST_PATIENCE_MS = 5 * 60_000;
/** How long an ended run is held for its client, after somebody else answered the client's question. */
const ENDED_PATIENCE_MS = 5 * 60_000;
const TICKET_BYTES = 8;

/** A run that waits for the answer to a question that the client was given. */
interface WaitingRun {
  run: LiveRun;
  question: Question;
}

/**
 * Runs that wait in this process with their sandboxes, by ticket. Each question has its own ticket. Only the run's principal can use
 * the ticket, and only once.
 */
export class WaitingRuns {
  readonly #maxRuns: () => number;
  readonly #isKept: boolean;
  /** Oldest first. */
  readonly #byTicket = new Map<string, WaitingRun & { timer: NodeJS.Timeout }>();
  /** Runs whose question was answered elsewhere. Their client will ask for their results. */
  readonly #wentOn = new Map<string, WaitingRun>();
  /** Runs that are giving up their sandboxes. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #leavingRuns = new Set<LiveRun>();

  readonly #isShared: boolean;

  /**
   * @param maxRuns the most runs that wait with their sandboxes. For one more, the oldest gives up its sandbox.
   * @param isKept whether a run that is given up waits on without its sandbox, under the same ticket; else it is cancelled.
   * @param isShared whether the answer may come to another process. Then a run that is kept gives up its sandbox at once.
   */
  constructor(maxRuns: () => number, isKept: boolean, isShared = false) {
    this.#maxRuns = maxRuns;
    this.#isKept = isKept;
    this.#isShared = isShared;
  }

  /** Lets a run wait, and returns its ticket. When the question is answered elsewhere, the run continues and takes its place back. */
  add(run: LiveRun, question: Question): string {
    run.detach();
    const ticket = this.#wait(run, question);
    question.withdrawn.addEventListener(
      "abort",
      () => {
        if (this.#remove(ticket) === undefined) return;
        run.place.resume();
        void this.#follow(ticket, { run, question });
      },
      { once: true },
    );
    if (this.#isShared && this.#isKept && question.kind === "approval") this.#giveUp(ticket);
    return ticket;
  }

  /** Resolves when a run that is giving up its sandbox is suspended. */
  async left(ticket: string): Promise<void> {
    await this.#leaving.get(ticket);
  }

  /**
   * Removes and returns somebody's run with this ticket; `undefined` when none waits in this process now, and `of_more_groups` for one
   * that is not for them because of its groups.
   */
  async take(ticket: string, viewer: Identified): Promise<WaitingRun | "of_more_groups" | undefined> {
    const waiting = this.#byTicket.get(ticket) ?? this.#wentOn.get(ticket);
    const owner = waiting?.run.request.context;
    if (waiting === undefined || owner?.principal !== viewer.principal) {
      await this.#leaving.get(ticket);
      return undefined;
    }
    if (!owns(viewer, owner)) return "of_more_groups";
    this.#remove(ticket);
    this.#wentOn.delete(ticket);
    // This client is asked any further question of the run.
    for (const [other, { run }] of this.#byTicket) if (run === waiting.run) this.#remove(other);
    return waiting;
  }

  /** Gives up the sandboxes of the runs of a connection. */
  leave(connection: ClientConnection): void {
    for (const [ticket, { run }] of [...this.#byTicket])
      if (run.connection === connection) this.#giveUp(ticket);
    for (const [ticket, { run }] of [...this.#wentOn])
      if (run.connection === connection) this.#wentOn.delete(ticket);
  }

  /** Gives up the sandboxes of all runs. */
  leaveAll(): void {
    for (const ticket of [...this.#byTicket.keys()]) this.#giveUp(ticket);
  }

  /** Whether this run waits on without its sandbox, or is about to. */
  isLeaving(run: LiveRun): boolean {
    return this.#leavingRuns.has(run);
  }

  #wait(run: LiveRun, question: Question): string {
    const ticket = ticketOf(question);
    this.#remove(ticket);
    const [oldest] = this.#byTicket.keys();
    if (oldest !== undefined && this.#byTicket.size >= this.#maxRuns()) this.#giveUp(oldest);
    const patienceMs = this.#isKept && question.kind === "approval" ? PATIENCE_MS : LAST_PATIENCE_MS;
    const timer = setTimeout(() => this.#giveUp(ticket), patienceMs);
    this.#byTicket.set(ticket, { run, question, timer });
    return ticket;
  }

  /** Holds a run that continued, for its client. Its further questions wait as usual, even if the client is gone. */
  async #follow(ticket: string, waiting: WaitingRun): Promise<void> {
    this.#wentOn.set(ticket, waiting);
    const isHeld = () => this.#wentOn.get(ticket) === waiting;
    for (;;) {
      const event = await waiting.run.next(undefined).catch(() => undefined);
      if (!isHeld()) return;
      if (event?.kind !== "question") break;
      const { question } = event;
      this.#wait(waiting.run, question);
      await Promise.race([whenAborted(question.withdrawn), waiting.run.ended()]);
      if (!isHeld()) return;
    }
    setTimeout(() => isHeld() && this.#wentOn.delete(ticket), ENDED_PATIENCE_MS).unref();
  }

  #remove(ticket: string): WaitingRun | undefined {
    const suspended = this.#byTicket.get(ticket);
    this.#byTicket.delete(ticket);
    clearTimeout(suspended?.timer);
    return suspended;
  }

  #giveUp(ticket: string): void {
    const { run, question } = this.#remove(ticket) ?? {};
    if (run === undefined || question === undefined || question.withdrawn.aborted) return;
    if (!this.#isKept || question.kind !== "approval") {
      run.cancel();
      return;
    }
    question.answer({ ...LATER, ticket });
    this.#leavingRuns.add(run);
    void putOffQuestions(run);
    this.#leaving.set(
      ticket,
      run.ended().then(() => {
        this.#leaving.delete(ticket);
        this.#leavingRuns.delete(run);
      }),
    );
  }
}

/** The ticket of a question; a new one if it has none. */
function ticketOf(question: Question): string {
  const own = question.kind === "approval" ? question.request.ticket : undefined;
  return own ?? randomBytes(TICKET_BYTES).toString("hex");
}

/** Answers the further questions of a run with `later`, if it continued because an answer from elsewhere came first. */
async function putOffQuestions(run: LiveRun): Promise<void> {
  for (;;) {
    const event = await run.next(undefined).catch(() => undefined);
    if (event?.kind !== "question") return;
    if (event.question.kind !== "approval") return run.cancel();
    event.question.answer({ ...LATER, ticket: ticketOf(event.question) });
  }
}

/** How long a request waits for an answer from elsewhere. Clients wait longer for a reply. */
const WAIT_MS = 20_000;
const POLL_MS = 500;

export const OVER = "the program that asked is over; `ptc runs list` has what it did, before it is run again";

/** What a token reads that names a run which had more groups. */
export const OF_MORE_GROUPS =
  "this program began with groups that this token does not have: continue it with the login, or the token, that began it";

/** A run that can continue, a question for the client, or the reply to the client instead. */
type Continued =
  | Extract<TakenRun, { kind: "taken" }>
  | { kind: "question"; question: Question }
  | { kind: "reply"; reply: ToolReply };

/** What a request brings for a run that waits. */
interface TicketedAnswer {
  ticket: string;
  response: unknown;
  /** Whether the form that it answers offered further calls. */
  offered: boolean;
  /** Where questions are answered over HTTP. */
  answerAt: string | undefined;
}

/**
 * Claims a run that waits without a sandbox, once its question is answered: by the client's response, by the person whom this
 * request asks, or by somebody else. The first answer counts.
 *
 * A question of another's run, which a rule lets the caller answer, is answered and no more: its own client continues it.
 */
export async function takeAnswered(
  suspended: SuspendedPrograms,
  { ticket, response, offered, answerAt }: TicketedAnswer,
  request: ClientRequest,
): Promise<Continued> {
  const { context } = request.connection;
  const { principal } = context;
  try {
    let taken = await suspended.take(context, ticket);
    const others = taken.kind === "unknown" ? await suspended.ofAnother?.(context, ticket) : undefined;
    if (others !== undefined) return answerForAnother(suspended, others, response, request);
    if (taken.kind === "unanswered") {
      const { pending } = taken;
      const answer =
        response === undefined
          ? undefined
          : parseApprovalAnswer(response, { ...pending.request, isAgain: offered }, request.client);
      if (answer !== undefined && answer.decision !== "later")
        await suspended.answer(principal, pending, answer);
      else if (answer !== undefined) return reply(describeWaiting(pending, answerAt));
      else if (request.canAsk && request.ask === undefined)
        return { kind: "question", question: questionOf(pending) };
      else await waitForAnswer(suspended, principal, pending, request);
      taken = await suspended.take(context, ticket);
    }
    switch (taken.kind) {
      case "taken":
        return taken;
      case "unanswered":
        return reply(describeWaiting(taken.pending, answerAt));
      case "live":
        return reply(describeLive(taken.pending, answerAt));
      case "elsewhere":
        return reply("this program continues in another process; see `ptc runs list`");
      case "of_more_groups":
        return reply(OF_MORE_GROUPS);
      case "unknown":
        return reply(OVER);
    }
  } catch (error) {
    if (!(error instanceof PendingError)) throw error;
    return reply(oneLine(error.message));
  }
}

/** Has the person at this client answer the question of another's run. */
async function answerForAnother(
  suspended: SuspendedPrograms,
  pending: PendingApproval,
  response: unknown,
  request: ClientRequest,
): Promise<Continued> {
  const { context } = request.connection;
  const { principal } = pending.owner;
  if (pending.isAnswered) return reply(`this question of ${oneLine(principal)} is answered already`);
  const asked = { ...pending.request, isAgain: false };
  let given: ApprovalAnswer | undefined;
  if (response !== undefined) given = parseApprovalAnswer(response, asked, request.client);
  else if (!request.canAsk)
    return reply(`this question is of ${oneLine(principal)}, and this client shows no forms`);
  else if (request.ask === undefined) return { kind: "question", question: questionOf(pending) };
  else given = (await request.ask(questionOf(pending), request.signal)) as ApprovalAnswer;
  if (given.decision === "later") return reply("nothing was answered; the question waits as before");
  const how = wayOf(given.how ?? "MCP", context);
  const counts = await suspended.answer(principal, pending, { ...given, by: context.principal, how });
  const what = given.decision === "denied" ? "denied" : "approved";
  return counts
    ? {
        kind: "reply",
        reply: textReply(`${what}; the program is of ${oneLine(principal)}, whose client continues it`),
      }
    : reply("it was answered before, and the first answer counts");
}

/** Asks the person at the client, if it can ask, until somebody has answered or the request waits no longer. */
async function waitForAnswer(
  suspended: SuspendedPrograms,
  principal: string,
  pending: PendingApproval,
  request: ClientRequest,
): Promise<void> {
  const answered = new AbortController();
  const signal = AbortSignal.any([request.signal, answered.signal]);
  const question = questionOf(pending);
  let isAsking = request.canAsk && request.ask !== undefined;
  request.canAsk &&
    request.ask?.(question, signal).then(
      async (answer) => {
        // A person who is not at the client may be at a terminal.
        if (answer.decision === "later") isAsking = false;
        else {
          await suspended.answer(principal, pending, answer);
          answered.abort();
        }
      },
      () => answered.abort(),
    );
  const until = performance.now() + WAIT_MS;
  while (!signal.aborted && (isAsking || performance.now() < until)) {
    await delay(POLL_MS, undefined, { signal }).catch(() => {});
    if (!signal.aborted && (await suspended.isAnswered(principal, pending))) answered.abort();
  }
}

function questionOf({ request, ticket }: PendingApproval): Extract<Question, { kind: "approval" }> {
  const withdrawn = new AbortController().signal;
  return {
    kind: "approval",
    request: { ...request, ticket, isAgain: true },
    withdrawn,
    answer: (_: ApprovalAnswer) => {},
  };
}

function reply(message: string): Continued {
  return { kind: "reply", reply: errorReply(message) };
}

function describeWaiting({ ticket, request }: PendingApproval, answerAt: string | undefined): string {
  return `nobody has answered yet whether ${oneLine(request.tool)} may be called: ${describeWhere(ticket, answerAt)}; then call execute_program with this ticket again`;
}

function describeLive({ ticket, request }: PendingApproval, answerAt: string | undefined): string {
  return `this program waits for an answer whether ${oneLine(request.tool)} may be called, and then continues by itself: ${describeWhere(ticket, answerAt)}; what it comes to goes to whoever started it, and into \`ptc runs list\``;
}

/**
 * Where a question is answered, in words for a model that tells its user.
 *
 * @param answerAt where that is done over HTTP; `undefined` if the user is at this machine.
 */
export function describeWhere(ticket: string, answerAt: string | undefined): string {
  if (answerAt === undefined) return `\`ptc approvals approve ${ticket}\` (or show, or deny) in a terminal`;
  const call = JSON.stringify({ code: renderTicket(ticket) });
  return `in another client of this server that shows forms, by execute_program ${call}; or whoever may approve it posts {"decision": "approve"} (or deny) to ${answerAt}/${ticket}; or whoever runs ptc there does \`ptc approvals approve ${ticket}\``;
}
