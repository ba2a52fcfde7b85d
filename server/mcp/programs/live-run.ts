import type { Clock } from "../../../base/clock.ts";
import type { Approver } from "../../../broker/approvals/approvals.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import type { ProgramOptions } from "../../../execution/program-runner.ts";
import type { TraceContext } from "../../../protocol/trace-context.ts";
import { type Question, Questions } from "../questions/questions.ts";
import type { ProgramReply } from "../tools/reply.ts";
import { type CallProgress, type ProgressSink, RunProgress } from "./run-progress.ts";

/** What came of a run: how it is told to the client. */
export interface RunEnd {
  /** @param told what else the client is told: what to do, and what happened beside the run; one line each. */
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

/** What a running program, or a call, is started with, beside what is known before. */
export interface LiveRunOptions
  extends Pick<ProgramOptions, "approver" | "signal" | "suspends" | "trace" | "onEvent" | "onCall"> {
  /** Receives what the server of a single call says of its progress. */
  onProgress: (report: CallProgress) => void;
}

/** A running program, or a single call. It outlives the request that started it when a question is handed to the client. */
export class LiveRun {
  readonly #questions: Questions;
  readonly #progress: RunProgress;
  readonly #abort = new AbortController();
  readonly #ended: ObservedCall[] = [];
  readonly #end: Promise<RunEnd>;

  /**
   * Starts the program.
   *
   * @param start runs it with these options.
   * @param canAsk whether the client can ask a person; it is called for each question.
   * @param canVisit whether it shows addresses of its own accord.
   * @param trace the trace that the client's request belongs to.
   */
  constructor(
    start: (options: LiveRunOptions) => Promise<RunEnd>,
    clock: Pick<Clock, "monotonicMs">,
    canAsk: () => boolean,
    canVisit: () => boolean,
    trace?: TraceContext,
  ) {
    this.#questions = new Questions(canAsk, canVisit);
    this.#progress = new RunProgress(clock);
    const approver: Approver = this.#questions;
    this.#end = start({
      approver,
      signal: this.#abort.signal,
      suspends: true,
      trace,
      onEvent: (event) => {
        if (event.kind === "call-started") this.#progress.onCallStarted(event.seq, event.tool);
      },
      onProgress: (report) => this.#progress.onReport(report),
      onCall: (call) => {
        // Results can be large, and no reply contains them.
        this.#ended.push(withoutData(call));
      },
    }).finally(() => {
      this.#progress.stop();
      this.#questions.close();
    });
    this.#end.catch(() => {});
  }

  /** Waits for the next event. Progress goes to `progress` until the next call of `next` or `detach`. */
  async next(progress: ProgressSink | undefined): Promise<NextEvent> {
    this.#progress.attach(progress);
    return Promise.race([
      this.result(),
      this.#questions.next().then((question): NextEvent => ({ kind: "question", question })),
    ]);
  }

  /** What was answered by another way than the client's, in lines for it. */
  get answeredElsewhere(): readonly string[] {
    return this.#questions.answersElsewhere;
  }

  /** Whether it waits for an answer whether a call may be made. */
  get isAsking(): boolean {
    return this.#questions.isAsking;
  }

  /** Stops reporting progress, because no request waits any more. */
  detach(): void {
    this.#progress.attach(undefined);
  }

  /** Kills the sandbox and aborts the calls in flight. */
  cancel(): void {
    this.#abort.abort();
  }

  /** Resolves when the run is over. */
  async result(): Promise<EndedRun> {
    return { kind: "ended", end: await this.#end, calls: this.#ended };
  }

  /** Resolves when the run has ended in any way. Its sandbox may not be removed yet. Never rejects. */
  async ended(): Promise<void> {
    await this.#end.catch(() => undefined);
  }
}

function withoutData(call: ObservedCall): ObservedCall {
  const { outcome } = call;
  return { ...call, outcome: outcome.ok ? { ...outcome, data: undefined, raw: undefined } : outcome };
}
