import type { Approver } from "../broker/approvals.ts";
import type { CallRecord } from "../execution/call-log.ts";
import type { ExecutedProgram } from "../execution/execute-program.ts";
import type { Program } from "../execution/program.ts";
import type { ProgramRunner } from "./program-runner.ts";
import { type Question, Questions } from "./questions.ts";
import { type ProgressSink, RunProgress } from "./run-progress.ts";
import type { ExecuteProgramArguments } from "./tool-arguments.ts";

export interface EndedRun {
  kind: "ended";
  executed: ExecutedProgram;
  calls: readonly CallRecord[];
}

export type NextEvent = { kind: "question"; question: Question } | EndedRun;

/** A program under way, across as many requests of the client as its questions take. */
export class LiveRun {
  readonly #questions: Questions;
  readonly #progress: RunProgress;
  readonly #abort = new AbortController();
  readonly #ended: CallRecord[] = [];
  readonly #executed: Promise<ExecutedProgram>;

  constructor(
    { code, data = {}, timeout_seconds, typecheck }: ExecuteProgramArguments,
    runner: ProgramRunner,
    clock: { nowMs(): number },
    canAsk: () => boolean,
  ) {
    this.#questions = new Questions(canAsk);
    this.#progress = new RunProgress(clock);
    const program: Program = { code, data, language: "typescript", fileName: "program.ts" };
    const approver: Approver = this.#questions;
    this.#executed = runner
      .run(program, {
        timeoutMs: timeout_seconds === undefined ? undefined : Math.ceil(timeout_seconds * 1_000),
        typecheck,
        approver,
        signal: this.#abort.signal,
        onCallStarted: ({ seq, tool }) => {
          this.#progress.onCallStarted(seq, tool);
        },
        onCall: (call) => {
          // What the reply says of a call is its name, its arguments and how it went; results can be large.
          this.#ended.push(withoutData(call));
        },
      })
      .finally(() => {
        this.#progress.stop();
        this.#questions.close();
      });
    this.#executed.catch(() => {});
  }

  /** Waits for what comes next. How the run gets on is told to the request that waits, until another does. */
  async next(progress: ProgressSink | undefined): Promise<NextEvent> {
    this.#progress.attach(progress);
    return Promise.race([
      this.result(),
      this.#questions.next().then((question): NextEvent => ({ kind: "question", question })),
    ]);
  }

  /** No request waits any more: there is nobody to tell how the run gets on. */
  detach(): void {
    this.#progress.attach(undefined);
  }

  /** Kills the sandbox and the calls in flight. */
  cancel(): void {
    this.#abort.abort();
  }

  async result(): Promise<EndedRun> {
    return { kind: "ended", executed: await this.#executed, calls: this.#ended };
  }

  /** Settles when the run is over. What is left of its sandbox is being cleared. */
  async ended(): Promise<void> {
    await this.#executed.catch(() => undefined);
  }
}

function withoutData(call: CallRecord): CallRecord {
  const { outcome } = call;
  return { ...call, outcome: outcome.ok ? { ...outcome, data: undefined, raw: undefined } : outcome };
}
