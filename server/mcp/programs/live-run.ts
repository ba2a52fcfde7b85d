import type { Clock } from "../../../base/clock.ts";
import { countNoun } from "../../../base/quantities.ts";
import { unmistakableLine } from "../../../base/unmistakable-line.ts";
import { oneLine } from "../../../base/visible-text.ts";
import { describeAnswerElsewhere } from "../../../broker/approvals/approval-text.ts";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type Approver,
  LATER,
  UNASKED,
} from "../../../broker/approvals/approvals.ts";
import {
  type ElicitationAnswer,
  type ElicitationRequest,
  NOT_ASKED,
} from "../../../broker/elicitation/elicitation.ts";
import {
  NOT_SAMPLED,
  type SamplingAnswer,
  type SamplingRequest,
} from "../../../broker/elicitation/sampling.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import type { Allowance } from "../../../execution/limits/usage-limits.ts";
import type { CallRequest, ProgramRequest } from "../../../execution/run-request.ts";
import type { OpenQuestion, Question } from "../elicitation.ts";
import type { ProgramReply } from "../tools/reply.ts";
import {
  type ClientConnection,
  type ClientRequest,
  contextOf,
  type ProgressSink,
  type RequestObserver,
} from "./client-request.ts";
import type { ProgramPlace } from "./program-places.ts";

/** The end of a run, as its client reads it. */
export interface RunEnd {
  /** @param told further lines for the client: hints on what to do, and notes on events outside the run. */
  reply(
    calls: readonly ObservedCall[],
    told: { hints: readonly string[]; notes: readonly string[] },
  ): Promise<ProgramReply>;
}

/** A run that has ended. */
export interface EndedRun {
  kind: "ended";
  end: RunEnd;
  /** The program's calls in the order in which they ended, without their results. */
  calls: readonly ObservedCall[];
}

/** The next event for a request that waits for a run: a question for a person, or the end of the run. */
export type NextEvent = { kind: "question"; question: Question } | EndedRun;

/** The part of the request for a run that is the same for every program and every call of a client. */
export type LiveRequest = Pick<
  ProgramRequest,
  | "context"
  | "approver"
  | "signal"
  | "suspends"
  | "leavesSpare"
  | "conversation"
  | "together"
  | "trace"
  | "allowance"
  | "onEvent"
  | "onCallStarted"
  | "onCall"
  | "onConsole"
> &
  Pick<CallRequest, "onProgress">;

/**
 * A program or a single call, from the moment when it has its place. It outlives the request that started it when a question is
 * handed to the client.
 */
export class LiveRun {
  readonly connection: ClientConnection;
  readonly place: ProgramPlace;
  /** The client's part of the request for the run. */
  readonly request: LiveRequest;
  readonly observer: RequestObserver;
  readonly #questions: Questions;
  readonly #progress: RunProgress;
  readonly #abort = new AbortController();
  readonly #ended: ObservedCall[] = [];
  readonly #end = Promise.withResolvers<RunEnd>();

  /**
   * @param request the request that starts the run. Its client is asked, and its connection owns the run.
   * @param place held until the run has ended.
   * @param allowance what the run may use.
   */
  constructor(
    request: ClientRequest,
    place: ProgramPlace,
    clock: Pick<Clock, "monotonicMs">,
    allowance?: Allowance,
  ) {
    const { connection, canAsk, canVisit, canSample, trace, mayApprove, observer = {} } = request;
    this.connection = connection;
    this.observer = observer;
    this.place = place;
    this.#questions = new Questions(canAsk, canVisit, mayApprove, canSample);
    this.#progress = new RunProgress(clock);
    this.request = {
      context: contextOf(request),
      approver: this.#questions,
      signal: this.#abort.signal,
      suspends: true,
      leavesSpare: place.isOneOfMany,
      conversation: connection.conversation,
      together: connection.together,
      trace,
      allowance,
      onEvent: observer.onEvent,
      // Events come a moment later than what they tell of, and by then the client may have its answer.
      onCallStarted: ({ seq, tool }) => this.#progress.onCallStarted(seq, tool),
      onConsole: observer.onConsole,
      onProgress: (report) => this.#progress.onReport(report),
      onCall: (call) => {
        // Results can be large, and no reply contains them.
        this.#ended.push(withoutData(call));
        return observer.onCall?.(call);
      },
    };
    this.#end.promise.catch(() => {});
  }

  /** Takes the promise of the run's end. The run has been started with `request`. */
  start(running: Promise<RunEnd>): void {
    const { resolve, reject } = this.#end;
    running
      .finally(() => {
        this.#progress.stop();
        this.#questions.close();
        this.place.free();
      })
      .then(resolve, reject);
  }

  /** Waits for the next event. Progress goes to `progress` until the next call of `next` or `detach`. */
  async next(progress: ProgressSink | undefined): Promise<NextEvent> {
    this.#progress.attach(progress);
    return Promise.race([
      this.result(),
      this.#questions.next().then((question): NextEvent => ({ kind: "question", question })),
    ]);
  }

  /** The questions that were answered elsewhere, in lines for the client. */
  get answeredElsewhere(): readonly string[] {
    return this.#questions.answersElsewhere;
  }

  /** Whether it waits for an approval of a call. */
  get isAsking(): boolean {
    return this.#questions.isAsking;
  }

  /** Stops reporting progress, because no request waits now. */
  detach(): void {
    this.#progress.attach(undefined);
  }

  /** Kills the sandbox and aborts the calls in flight. */
  cancel(): void {
    this.#abort.abort();
  }

  /** Resolves when the run is over. */
  async result(): Promise<EndedRun> {
    return { kind: "ended", end: await this.#end.promise, calls: this.#ended };
  }

  /** Resolves when the run has ended in any way. Its sandbox may not be removed yet. Never rejects. */
  async ended(): Promise<void> {
    await this.#end.promise.catch(() => undefined);
  }
}

function withoutData(call: ObservedCall): ObservedCall {
  const { outcome } = call;
  const { flow: _, ...rest } = outcome;
  return { ...call, outcome: rest.ok ? { ...rest, data: undefined, raw: undefined } : rest };
}

/** The most answers from elsewhere that one reply lists. */
const MAX_ANSWERED_ELSEWHERE = 10;

/**
 * The questions of one run, one at a time. The run sees an ordinary approver. A request of the client that waits for the run
 * takes the question from here and puts it to a person.
 */
class Questions implements Approver {
  readonly #canAsk: boolean;
  readonly #canVisit: boolean;
  readonly #mayApprove: boolean;
  readonly #canSample: boolean;
  readonly #closed = new AbortController();
  readonly #answersElsewhere: string[] = [];
  #waiting: Question | undefined;
  #announce: () => void = () => {};

  /**
   * @param canAsk whether the client can ask a person. If not, questions are answered with `LATER` and `NOT_ASKED`.
   * @param canVisit whether it can show addresses.
   * @param mayApprove whether its user's answers to questions about calls count. If not, these are not put to it.
   * @param canSample whether its model answers servers.
   */
  constructor(canAsk: boolean, canVisit = false, mayApprove = true, canSample = false) {
    this.#canSample = canSample;
    this.#canAsk = canAsk;
    this.#canVisit = canVisit;
    this.#mayApprove = mayApprove;
  }

  ask(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    if (!(this.#canAsk && this.#mayApprove) && !signal.aborted) return Promise.resolve(LATER);
    return this.#put(signal, UNASKED, true, (open) => ({ kind: "approval", request, ...open }));
  }

  answeredElsewhere({ tool }: ApprovalRequest, answer: ApprovalAnswer | undefined): void {
    if (this.#answersElsewhere.length < MAX_ANSWERED_ELSEWHERE)
      this.#answersElsewhere.push(`${unmistakableLine(tool)}: ${describeAnswerElsewhere(answer)}`);
  }

  /** The questions that were answered elsewhere, one line each. */
  get answersElsewhere(): readonly string[] {
    return this.#answersElsewhere;
  }

  elicit(elicitation: ElicitationRequest, signal: AbortSignal): Promise<ElicitationAnswer> {
    const can = this.#canAsk || (elicitation.mode === "url" && this.#canVisit);
    return this.#put<ElicitationAnswer>(signal, NOT_ASKED, can, (open) => ({
      kind: "elicitation",
      elicitation,
      ...open,
    }));
  }

  sample(request: SamplingRequest, signal: AbortSignal): Promise<SamplingAnswer> {
    return this.#put(signal, NOT_SAMPLED, this.#canSample, (open) => ({
      kind: "sampling",
      request,
      ...open,
    }));
  }

  canVisit(): boolean {
    return this.#canVisit;
  }

  /** Resolves with the first question that is open. */
  next(): Promise<Question> {
    return new Promise((resolve) => {
      const take = () => {
        if (this.#waiting !== undefined) resolve(this.#waiting);
      };
      this.#announce = take;
      take();
    });
  }

  /** Whether one of ptc's own questions about a call is open. */
  get isAsking(): boolean {
    return this.#waiting?.kind === "approval";
  }

  /** Withdraws the open question. Later questions are not asked. */
  close(): void {
    this.#closed.abort();
  }

  #put<Answer>(
    signal: AbortSignal,
    unasked: Answer,
    can: boolean,
    build: (open: OpenQuestion<Answer>) => Question,
  ): Promise<Answer> {
    const withdrawn = AbortSignal.any([signal, this.#closed.signal]);
    if (!can || withdrawn.aborted) return Promise.resolve(unasked);
    return new Promise((resolve) => {
      const answer = (given: Answer) => {
        if (this.#waiting === question) this.#waiting = undefined;
        resolve(given);
      };
      const question = build({ withdrawn, answer });
      withdrawn.addEventListener("abort", () => answer(unasked), { once: true });
      this.#waiting = question;
      this.#announce();
    });
  }
}

/** The progress that the server of a single call reports (MCP 2025-11-25, "Progress"). */
interface CallProgress {
  progress: number;
  total?: number | undefined;
  message?: string | undefined;
}

const MIN_INTERVAL_MS = 100;
/** After a pause a few reports go out at once: a server that reports three steps in a moment is heard with all of them. */
const BURST_MS = 5 * MIN_INTERVAL_MS;
const MAX_TOOL_CHARS = 300;
const MAX_MESSAGE_CHARS = 1_000;

/**
 * Reports the progress of a run, at most ten times a second over time; calls in between are skipped, but for the last. The sink is replaced
 * when another request of the client waits for the run.
 */
export class RunProgress {
  readonly #clock: Pick<Clock, "monotonicMs">;
  #sink: ProgressSink | undefined;
  #newest: CallProgress | undefined;
  #sent = Number.NEGATIVE_INFINITY;
  /** Until when the reports that were sent would last at the even pace. */
  #spentUntil = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Reports to this sink from now on, first the newest call if it was not reported. `undefined` reports to nobody. */
  attach(sink: ProgressSink | undefined): void {
    this.#sink = sink;
    if (this.#timer === undefined) this.#send();
  }

  /** @param count how many calls the program has started, this one included */
  onCallStarted(count: number, tool: string): void {
    this.#note({ progress: count, message: `call ${count}: ${oneLine(tool, MAX_TOOL_CHARS)}` });
  }

  /** Passes on the report of a single call's server. Its progress replaces the count of calls. */
  onReport({ message, ...numbers }: CallProgress): void {
    this.#note({
      ...numbers,
      message: message === undefined ? undefined : oneLine(message, MAX_MESSAGE_CHARS),
    });
  }

  #note(newest: CallProgress): void {
    this.#newest = newest;
    if (this.#timer !== undefined) return;
    const waitMs = this.#spentUntil - BURST_MS - this.#clock.monotonicMs();
    if (waitMs <= 0) this.#send();
    else this.#timer = setTimeout(() => this.#send(), waitMs);
  }

  /** Ends all reports, after the newest. What is reported later would come after the answer, when no client listens. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#send();
    this.#sink = undefined;
  }

  #send(): void {
    this.#timer = undefined;
    if (this.#sink === undefined || this.#newest === undefined) return;
    const { progress, message, total } = this.#newest;
    if (progress <= this.#sent) return;
    this.#sent = progress;
    this.#spentUntil = Math.max(this.#spentUntil, this.#clock.monotonicMs()) + MIN_INTERVAL_MS;
    this.#sink.report(progress, message, total);
  }
}

/** While at most this many programs wait before its own, a client is notified of every change. */
const TOLD_ONE_BY_ONE = 10;
/** With more, the client is notified of a change by a tenth, and of any change after this time. Clients that hear nothing give up. */
const TOLD_EVERY_MS = 10_000;

/**
 * Tells the client how many programs are before its own: in steps, because with each program that ends all that wait move up.
 * Progress must grow with every message, and must stay below 1, the progress of the first call.
 */
export function reportPosition(progress: ProgressSink | undefined): (before: number) => void {
  let messages = 0;
  let told = { before: Number.POSITIVE_INFINITY, at: 0 };
  return (before) => {
    const at = performance.now();
    const isAlike = before > TOLD_ONE_BY_ONE && Math.abs(before - told.before) < 0.1 * told.before;
    if (isAlike && at - told.at < TOLD_EVERY_MS) return;
    told = { before, at };
    progress?.report(
      messages / (messages + 1),
      `waits for its turn, ${countNoun(before, "program")} before it`,
    );
    messages++;
  };
}
