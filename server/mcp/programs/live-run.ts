import type { Clock } from "../../../base/clock.ts";
import type { Approver } from "../../../broker/approvals/approvals.ts";
import type { ObservedCall } from "../../../execution/call-log.ts";
import type { ExecutedProgram } from "../../../execution/output/executed-program.ts";
import type { ProgramOptions } from "../../../host/program-runner.ts";
import type { TraceContext } from "../../../telemetry/trace-context.ts";
import { type Question, Questions } from "../questions/questions.ts";
import { type ProgressSink, RunProgress } from "./run-progress.ts";

/** A run that has ended. */
export interface EndedRun {
  kind: "ended";
  executed: ExecutedProgram;
  /** The program's calls in the order in which they ended, without their results. */
  calls: readonly ObservedCall[];
}

/** The next event for a request that waits for a run: a question for a person, or the end of the run. */
export type NextEvent = { kind: "question"; question: Question } | EndedRun;

/** What a running program is started with, beside what is known before. */
export type LiveRunOptions = Pick<
  ProgramOptions,
  "approver" | "signal" | "suspends" | "trace" | "onEvent" | "onCall"
>;

/** A running program. It outlives the request that started it when a question is handed to the client. */
export class LiveRun {
  readonly #questions: Questions;
  readonly #progress: RunProgress;
  readonly #abort = new AbortController();
  readonly #ended: ObservedCall[] = [];
  readonly #executed: Promise<ExecutedProgram>;

  /**
   * Starts the program.
   *
   * @param start runs it with these options.
   * @param canAsk whether the client can ask a person; it is called for each question.
   * @param canVisit whether it shows addresses of its own accord.
   * @param trace the trace that the client's request belongs to.
   */
  constructor(
    start: (options: LiveRunOptions) => Promise<ExecutedProgram>,
    clock: Pick<Clock, "monotonicMs">,
    canAsk: () => boolean,
    canVisit: () => boolean,
    trace?: TraceContext,
  ) {
    this.#questions = new Questions(canAsk, canVisit);
    this.#progress = new RunProgress(clock);
    const approver: Approver = this.#questions;
    this.#executed = start({
      approver,
      signal: this.#abort.signal,
      suspends: true,
      trace,
      onEvent: (event) => {
        if (event.kind === "call-started") this.#progress.onCallStarted(event.seq, event.tool);
      },
      onCall: (call) => {
        // Results can be large, and no reply contains them.
        this.#ended.push(withoutData(call));
      },
    }).finally(() => {
      this.#progress.stop();
      this.#questions.close();
    });
    this.#executed.catch(() => {});
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
  get outrun(): readonly string[] {
    return this.#questions.outruns;
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
    return { kind: "ended", executed: await this.#executed, calls: this.#ended };
  }

  /** Resolves when the run has ended in any way. Its sandbox may not be removed yet. Never rejects. */
  async ended(): Promise<void> {
    await this.#executed.catch(() => undefined);
  }
}

function withoutData(call: ObservedCall): ObservedCall {
  const { outcome } = call;
  return { ...call, outcome: outcome.ok ? { ...outcome, data: undefined, raw: undefined } : outcome };
}
