import type { Clock } from "../../../base/clock.ts";
import { messageOf } from "../../../base/faults.ts";
import { RecentlyUsed } from "../../../base/recently-used.ts";
import { oneLine } from "../../../base/visible-text.ts";
import { LATER } from "../../../broker/approvals/approvals.ts";
import type { Allowance, Busy, UsageLimits } from "../../../execution/limits/usage-limits.ts";
import type { TakenRun } from "../../../execution/pending/pending-approvals.ts";
import type { ProgramRunner } from "../../../execution/run-request.ts";
import { buildFailure } from "../../../protocol/failure.ts";
import type { Telemetry } from "../../../telemetry/telemetry.ts";
import { giveAnswer, type Question, readAnswer } from "../elicitation.ts";
import { errorReply, type ToolReply } from "../tools/reply.ts";
import type { ClientConnection, ClientRequest, ProgramAnswer } from "./client-request.ts";
import { type EndedRun, LiveRun, reportPosition } from "./live-run.ts";
import {
  type Entry,
  type NoPlace,
  type PlaceLimits,
  type ProgramPlace,
  ProgramPlaces,
} from "./program-places.ts";
import { buildRefusalReply } from "./program-reply.ts";
import { OF_MORE_GROUPS, OVER, takeAnswered, WaitingRuns } from "./waiting-runs.ts";

export interface ProgramsOptions {
  runner: Pick<ProgramRunner, "suspended">;
  clock: Pick<Clock, "monotonicMs">;
  /** The limits as they are now. */
  limits: () => ProgramLimits;
  /** Whether approvals given at the client count; true by default. */
  approvesAtClient?: (() => boolean) | undefined;
  /** Where questions are answered over HTTP; `undefined` if the user is at this machine. */
  answerAt?: (() => string | undefined) | undefined;
  /** Whether other processes serve the same clients, so that an answer may come to another one than the question came from. */
  isOneOfMany?: boolean | undefined;
  /** What principals may use. If absent, as much as they like. */
  use?: Pick<UsageLimits, "admit" | "whyNot"> | undefined;
  /** Receives the programs that wait for their turn. */
  telemetry?: Pick<Telemetry, "queued"> | undefined;
}

export interface ProgramLimits {
  /** Programs that may run at the same time, over all connections. */
  readonly maxParallelPrograms: number;
  /** Single calls that may be made at the same time. */
  readonly maxParallelCalls: number;
  /** Programs of one principal that may wait until one of those has ended. */
  readonly maxQueuedPrograms: number;
  /** How long a program waits for its turn when its request names no time limit. */
  readonly timeoutMs: number;
}

interface Admission {
  patienceMs?: number | undefined;
  isCall?: boolean;
}

/** The answer to a request that brings a ticket, or the run that the request continues. */
export type Resumption = ProgramAnswer | Extract<TakenRun, { kind: "taken" }>;

type Reply = Extract<ProgramAnswer, { kind: "reply" }>;

const MAY_NOT_APPROVE =
  "this login may not approve calls (it lacks the scope ptc:approve); somebody who may has to answer";

/** The most forms that are remembered for their answers. */
const MAX_OFFERED = 1_000;

/**
 * The programs of this process, of all connections together. A limited number run at the same time, not counting those that
 * wait for a person. More wait: principals take turns, and the programs of one begin in the order in which they came.
 *
 * A program's time limit counts from its start. It also limits how long the program waits for its turn. A request is answered when
 * its program has ended, or has a question that the client's next request must answer. Until then, cancelling the request cancels
 * the program.
 */
export class Programs {
  readonly #options: ProgramsOptions;
  readonly #runs = new Set<LiveRun>();
  readonly #places: ProgramPlaces<Allowance, Busy>;
  /** Single calls need no sandbox, so they have places of their own. */
  readonly #callPlaces: ProgramPlaces<Allowance, Busy>;
  readonly #waiting: WaitingRuns;
  /** The tickets of forms that offered to approve further calls. An answer to any other form approves one. */
  readonly #offered = new RecentlyUsed<string, true>({ maxEntries: MAX_OFFERED });

  constructor(options: ProgramsOptions) {
    const { limits, runner } = options;
    const places = (most: "maxParallelPrograms" | "maxParallelCalls") =>
      new ProgramPlaces<Allowance, Busy>(() => ({
        maxRunning: limits()[most],
        maxQueued: limits().maxQueuedPrograms,
      }));
    this.#options = options;
    this.#places = places("maxParallelPrograms");
    this.#callPlaces = places("maxParallelCalls");
    this.#waiting = new WaitingRuns(
      () => limits().maxParallelPrograms,
      runner.suspended !== undefined,
      options.isOneOfMany,
    );
  }

  /**
   * Waits for the turn of a program or a single call. Resolves with the run, which the caller must start and follow at once, or with
   * the reply that the run got no turn.
   *
   * @param patienceMs the longest wait; by default the configured time limit.
   */
  async admit(
    request: ClientRequest,
    { patienceMs = this.#options.limits().timeoutMs, isCall = false }: Admission,
  ): Promise<LiveRun | Reply> {
    const { connection, signal, progress } = request;
    const { telemetry, use, clock } = this.#options;
    const places = isCall ? this.#callPlaces : this.#places;
    const known = use?.whyNot(connection.context, isCall);
    if (known !== undefined) return { kind: "reply", reply: buildRefusalReply(known) };
    const admitted = telemetry?.queued();
    const placed = await places.take({
      principal: connection.context.principal,
      patienceMs,
      signal: AbortSignal.any([signal, connection.closed]),
      onPosition: reportPosition(progress),
      enter: use && (() => enterWith(use, request, isCall)),
    });
    admitted?.();
    if (placed.kind === "refused") return { kind: "reply", reply: buildRefusalReply(placed.value) };
    // The connection may have closed after the place was given.
    if (placed.kind === "none" || connection.closed.aborted) {
      if (placed.kind === "placed") withAllowance(placed.place, placed.entered).free();
      const reason = placed.kind === "none" ? placed.why : "cancelled";
      return { kind: "reply", reply: refusePlace(reason, patienceMs, places.limits) };
    }
    const { entered } = placed;
    const run = new LiveRun(request, withAllowance(placed.place, entered), clock, entered);
    this.#runs.add(run);
    void run.ended().then(() => this.#runs.delete(run));
    return run;
  }

  /**
   * Continues the run that waits for an answer with this ticket. If the run waits in this process, follows it; otherwise claims the
   * suspended run. A ticket can be used once. Without a response, the person is asked again.
   */
  async resume(ticket: string, response: unknown, request: ClientRequest): Promise<Resumption> {
    const waiting = await this.#waiting.take(ticket, request.connection.context);
    if (waiting === "of_more_groups") return { kind: "reply", reply: errorReply(OF_MORE_GROUPS) };
    if (waiting === undefined) return this.#resumeSuspended(ticket, response, request);
    const { run, question } = waiting;
    if (question.kind === "approval" && request.mayApprove === false && response !== undefined) {
      this.#waiting.add(run, question);
      return { kind: "reply", reply: errorReply(MAY_NOT_APPROVE) };
    }
    run.place.resume();
    if (response !== undefined) giveAnswer(question, readAnswer(question, response, request.client));
    return this.follow(run, request);
  }

  /** How many programs and calls are under way, with those that wait for a person. */
  get running(): number {
    return this.#runs.size;
  }

  /** Gives up the sandboxes of all runs that wait for a person: another process, or a later one, continues them. */
  suspendWaiting(): void {
    this.#waiting.leaveAll();
  }

  /** Cancels the programs of a connection that has closed. Resolves when they have ended. */
  async closeConnection(connection: ClientConnection): Promise<void> {
    this.#waiting.leave(connection);
    const runs = [...this.#runs].filter((run) => run.connection === connection);
    for (const run of runs) if (!this.#waiting.isLeaving(run)) run.cancel();
    await Promise.all(runs.map((run) => run.ended()));
  }

  /** Resumes a run that was suspended, perhaps by another process, once its question is answered. */
  async #resumeSuspended(ticket: string, response: unknown, request: ClientRequest): Promise<Resumption> {
    const { runner, approvesAtClient, answerAt } = this.#options;
    const mayApprove = request.mayApprove !== false;
    if (!mayApprove && response !== undefined) return { kind: "reply", reply: errorReply(MAY_NOT_APPROVE) };
    if (runner.suspended === undefined) return { kind: "reply", reply: errorReply(OVER) };
    const taken = await takeAnswered(
      runner.suspended,
      { ticket, response, offered: this.#offered.has(ticket), answerAt: answerAt?.() },
      { ...request, canAsk: request.canAsk && mayApprove && approvesAtClient?.() !== false },
    );
    return taken.kind === "question" ? this.#handOut(taken.question, ticket) : taken;
  }

  /**
   * Waits for the run's next answer. Cancelling the request cancels the run, unless the client's time was up while a person was
   * asked. In that case the run is suspended.
   */
  async follow(run: LiveRun, request: ClientRequest): Promise<ProgramAnswer> {
    const cancel = () => {
      if (!(this.#isLate(request) && run.isAsking)) run.cancel();
    };
    if (request.signal.aborted) cancel();
    request.signal.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#nextAnswer(run, request);
    } finally {
      request.signal.removeEventListener("abort", cancel);
    }
  }

  async #nextAnswer(run: LiveRun, request: ClientRequest): Promise<ProgramAnswer> {
    for (;;) {
      const event = await run.next(request.progress);
      if (event.kind === "ended") return this.#reply(event, request, [], run.answeredElsewhere);
      const { question } = event;
      if (request.ask === undefined) {
        // When the request is cancelled or the client has disconnected, no later request can bring an answer.
        if (request.signal.aborted || request.connection.closed.aborted)
          return this.#reply(await run.result(), request);
        run.place.pause();
        const ticket = this.#waiting.add(run, question);
        await this.#waiting.left(ticket);
        return this.#handOut(question, ticket);
      }
      run.place.pause();
      try {
        const noLonger = AbortSignal.any([request.signal, question.withdrawn]);
        const answer = await request.ask(question, noLonger);
        run.place.resume();
        giveAnswer(question, answer);
      } catch (error) {
        run.place.resume();
        if (question.withdrawn.aborted) continue;
        if (question.kind === "sampling" && !request.signal.aborted && !request.connection.closed.aborted) {
          // A client refuses by an error (MCP 2025-11-25, Sampling: Error Handling). It is the server that gets no answer.
          const reason = oneLine(messageOf(error), MAX_PROBLEM_CHARS);
          question.answer({ kind: "unsampled", why: `the client gave none: ${reason}` });
          continue;
        }
        const mayWait = !request.signal.aborted || this.#isLate(request);
        if (question.kind === "approval" && this.#options.runner.suspended && mayWait) {
          // Somebody may answer elsewhere or later.
          question.answer(LATER);
          continue;
        }
        run.cancel();
        return this.#reply(await run.result(), request, [failedToAsk(question, error)]);
      }
    }
  }

  /** A question for the client. The client's next request brings the answer. */
  #handOut(question: Question, ticket: string): ProgramAnswer {
    this.#offered.delete(ticket);
    if (question.kind === "approval" && question.request.isAgain === true) this.#offered.set(ticket, true);
    return { kind: "question", question, ticket };
  }

  /** Whether a client cancelled its request for lack of time, in the wording of the SDKs, and the run can wait without the request. */
  #isLate({ signal: { aborted, reason }, connection }: ClientRequest): boolean {
    const isSuspendable = this.#options.runner.suspended !== undefined && !connection.closed.aborted;
    return aborted && isSuspendable && /\btime(?:d[ -]?|[ -]?)out\b/i.test(messageOf(reason));
  }

  async #reply(
    { end, calls }: EndedRun,
    { connection }: ClientRequest,
    hints: readonly string[] = [],
    notes: readonly string[] = [],
  ): Promise<ProgramAnswer> {
    const reply = await end.reply(calls, { hints, notes: [...notes, ...connection.notices.take()] });
    return { kind: "reply", reply };
  }
}

/** Decides whether a program may begin when its turn has come. */
async function enterWith(
  use: Pick<UsageLimits, "admit">,
  { connection }: ClientRequest,
  isCall: boolean,
): Promise<Entry<Allowance, Busy>> {
  const admission = await use.admit(connection.context, isCall);
  switch (admission.kind) {
    case "admitted": {
      const { allowance } = admission;
      return { kind: "entered", value: allowance, undo: () => allowance.end() };
    }
    case "later":
      return { kind: "later", afterMs: admission.afterMs, why: admission.failure };
    case "refused":
      return { kind: "refused", value: admission.failure };
  }
}

/** A place whose end is the end of what its program may use. */
function withAllowance(place: ProgramPlace, allowance: Allowance | undefined): ProgramPlace {
  if (allowance === undefined) return place;
  return {
    isOneOfMany: place.isOneOfMany,
    pause: () => place.pause(),
    resume: () => place.resume(),
    free() {
      allowance.end();
      place.free();
    },
  };
}

/** What a client reads of a program, or a call, that got no place. */
function refusePlace(reason: NoPlace, patienceMs: number, { maxRunning, maxQueued }: PlaceLimits): ToolReply {
  if (reason === "cancelled") return buildRefusalReply(buildFailure("Cancelled", "the run was cancelled"));
  const advice = "wait for one to end, or do more in one program";
  const message =
    reason === "full"
      ? `the most programs that may run (${maxRunning}) and wait (${maxQueued}) do so already; ${advice}`
      : `the most programs that may run (${maxRunning}) do so already, and its turn did not come in ${patienceMs / 1_000} s; ${advice}`;
  return buildRefusalReply(buildFailure("Busy", message));
}

const MAX_PROBLEM_CHARS = 300;

/** Why a program ended because nobody could be asked its question. */
function failedToAsk(question: Question, error: unknown): string {
  const reason = oneLine(messageOf(error), MAX_PROBLEM_CHARS);
  const what =
    question.kind === "approval"
      ? `ask for an approval of ${oneLine(question.request.tool)}`
      : question.kind === "sampling"
        ? `put a request of server '${oneLine(question.request.server)}' to its model`
        : `put a question of server '${oneLine(question.elicitation.server)}' to its user`;
  return `The program was cancelled because the client could not ${what}: ${reason}`;
}
