import type { Clock } from "../../../base/clock.ts";
import { messageOf } from "../../../base/error-message.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import type { ApprovalAnswer, ApprovalRequest } from "../../../broker/approvals.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import type { ToolPrinter } from "../../../codegen/language-printer.ts";
import type { ProgramRunner } from "../../../host/program-runner.ts";
import { buildFailure } from "../../../protocol/failure.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import type { Question } from "../questions/questions.ts";
import { errorReply, type ToolReply } from "../tools/reply.ts";
import type { ExecuteProgramArguments } from "../tools/tool-arguments.ts";
import { hintsFor } from "./failure-hints.ts";
import { type EndedRun, LiveRun } from "./live-run.ts";
import { buildProgramReply, buildRefusalReply } from "./program-reply.ts";
import type { ProgressSink } from "./run-progress.ts";
import { SuspendedRuns } from "./suspended-runs.ts";

/** A request that waits for a program: the one that starts it, or one that brings the answer to a question. */
export interface ProgramRequest {
  signal: AbortSignal;
  progress: ProgressSink | undefined;
  /** Whether the client can put a question to a person. */
  canAsk: boolean;
  /**
   * Asks a person while the request waits. Rejects when the client cannot. Without it, a question is returned as the result
   * of the request, and the client's next request brings the answer.
   */
  ask?: ((request: ApprovalRequest, signal: AbortSignal) => Promise<ApprovalAnswer>) | undefined;
}

/** The answer to a request. */
export type ProgramAnswer =
  | { kind: "reply"; reply: ToolReply }
  /** The run waits for a person. The client returns the answer together with the ticket. */
  | { kind: "question"; question: Question; ticket: string };

export interface ProgramsOptions {
  runner: ProgramRunner;
  /** The tools that are known now, for hints. */
  known: () => Promise<ToolCatalog>;
  /** Prints tools in the language of programs. */
  printer: ToolPrinter;
  /** The context of the client's session, which all of its programs share. */
  context: RunContext;
  clock: Pick<Clock, "monotonicMs">;
  /** Programs that may run at the same time. */
  maxPrograms: number;
}

const MAX_PROBLEM_CHARS = 300;

/** The programs of one client. A limited number run at the same time, not counting those that wait for a person. */
export class Programs {
  readonly #options: ProgramsOptions;
  readonly #runs = new Set<LiveRun>();
  readonly #suspended: SuspendedRuns;
  #isClosed = false;

  constructor(options: ProgramsOptions) {
    this.#options = options;
    this.#suspended = new SuspendedRuns(options.maxPrograms);
  }

  /** Runs a program until it ends or has a question that the client's next request must answer. */
  async start(args: ExecuteProgramArguments, request: ProgramRequest): Promise<ProgramAnswer> {
    const { runner, context, clock, maxPrograms } = this.#options;
    const running = [...this.#runs].filter((run) => !this.#suspended.has(run));
    if (running.length >= maxPrograms) return { kind: "reply", reply: busy(maxPrograms) };
    const run = new LiveRun(args, runner, context, clock, () => request.canAsk);
    this.#runs.add(run);
    void run.ended().then(() => this.#runs.delete(run));
    if (this.#isClosed) run.cancel();
    return this.#goOn(run, request);
  }

  /** Gives a person's answer to the run that waits for it. A ticket can be used once. */
  async resume(ticket: string, answer: ApprovalAnswer, request: ProgramRequest): Promise<ProgramAnswer> {
    const suspended = this.#suspended.take(ticket);
    if (suspended === undefined) {
      return { kind: "reply", reply: errorReply("the program that asked is over; run it again") };
    }
    suspended.question.answer(answer);
    return this.#goOn(suspended.run, request);
  }

  /** Cancels every program, also one that is started later. Resolves when all runs have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#suspended.clear();
    const runs = [...this.#runs];
    for (const run of runs) run.cancel();
    await Promise.all(runs.map((run) => run.ended()));
  }

  /** Waits for the run's next answer. Cancelling the request cancels the run. */
  async #goOn(run: LiveRun, request: ProgramRequest): Promise<ProgramAnswer> {
    const cancel = () => run.cancel();
    if (request.signal.aborted) cancel();
    request.signal.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#nextAnswer(run, request);
    } finally {
      request.signal.removeEventListener("abort", cancel);
    }
  }

  async #nextAnswer(run: LiveRun, request: ProgramRequest): Promise<ProgramAnswer> {
    for (;;) {
      const event = await run.next(request.progress);
      if (event.kind === "ended") return this.#reply(event);
      const { question } = event;
      if (request.ask === undefined) {
        // When the request is cancelled or the client has disconnected, no later request can bring an answer.
        if (request.signal.aborted || this.#isClosed) return this.#reply(await run.result());
        return { kind: "question", question, ticket: this.#suspended.add(run, question) };
      }
      try {
        const noLonger = AbortSignal.any([request.signal, question.withdrawn]);
        question.answer(await request.ask(question.request, noLonger));
      } catch (error) {
        if (question.withdrawn.aborted) continue;
        run.cancel();
        return this.#reply(await run.result(), [failedToAsk(question.request, error)]);
      }
    }
  }

  async #reply({ executed, calls }: EndedRun, hints: readonly string[] = []): Promise<ProgramAnswer> {
    const known = await this.#options.known();
    const reply = buildProgramReply(executed, calls, {
      isReadOnly: (tool) => known.find(tool)?.annotations?.readOnlyHint === true,
      hints: [...hints, ...(await hintsFor(executed, calls, known, this.#options.printer))],
    });
    return { kind: "reply", reply };
  }
}

function failedToAsk({ tool }: ApprovalRequest, error: unknown): string {
  const reason = oneLine(messageOf(error), MAX_PROBLEM_CHARS);
  return `The program was cancelled because the client could not ask for an approval of ${oneLine(tool)}: ${reason}`;
}

function busy(maxPrograms: number): ToolReply {
  const message = `${maxPrograms} programs are running, as many as are allowed at once; wait for one to end, or do more in one program`;
  return buildRefusalReply(buildFailure("Busy", message));
}
