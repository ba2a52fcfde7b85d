import { randomBytes } from "node:crypto";
import type { ApprovalAnswer, ApprovalRequest } from "../broker/approvals.ts";
import { buildFailure } from "../protocol/failure.ts";
import { hintsFor, type KnownTools } from "./hints.ts";
import { type EndedRun, LiveRun } from "./live-run.ts";
import type { ProgramRunner } from "./program-runner.ts";
import type { Question } from "./questions.ts";
import { buildProgramReply, errorReply, type ToolReply } from "./reply.ts";
import type { ProgressSink } from "./run-progress.ts";
import type { ExecuteProgramArguments } from "./tool-arguments.ts";

/** A request that waits for a program: a first one, or one that brings the answer to a question. */
export interface ProgramRequest {
  signal: AbortSignal;
  progress: ProgressSink | undefined;
  canAsk: boolean;
  /**
   * Asks a person while the request waits; rejects when the client cannot. Without it a question is handed out as the
   * answer to the request, and the next request brings the person's.
   */
  ask?: ((request: ApprovalRequest, signal: AbortSignal) => Promise<ApprovalAnswer>) | undefined;
}

export type ProgramAnswer =
  | { kind: "reply"; reply: ToolReply }
  /** The run waits for a person; the client brings the answer back with the ticket. */
  | { kind: "question"; question: Question; ticket: string };

export interface ProgramsOptions {
  runner: ProgramRunner;
  known: () => Promise<KnownTools>;
  clock: { nowMs(): number };
  /** Programs that may run at the same time. */
  maxPrograms: number;
}

/** How long a question that was handed out may wait. Then its run is abandoned. */
const ABANDONED_AFTER_MS = 5 * 60_000;

const MAX_PROBLEM_CHARS = 300;

interface Suspended {
  run: LiveRun;
  question: Question;
  timer: NodeJS.Timeout;
}

/**
 * The programs of one client: runs them side by side up to a number, and holds as many more that wait for the answer to a
 * question that was handed out.
 */
export class Programs {
  readonly #options: ProgramsOptions;
  readonly #runs = new Set<LiveRun>();
  /** By ticket, oldest first. */
  readonly #suspended = new Map<string, Suspended>();
  #isClosed = false;

  constructor(options: ProgramsOptions) {
    this.#options = options;
  }

  async start(args: ExecuteProgramArguments, request: ProgramRequest): Promise<ProgramAnswer> {
    const { runner, clock, maxPrograms } = this.#options;
    if (this.#countRunning() >= maxPrograms) return { kind: "reply", reply: busy(maxPrograms) };
    const run = new LiveRun(args, runner, clock, () => request.canAsk);
    this.#runs.add(run);
    void run.ended().then(() => this.#runs.delete(run));
    if (this.#isClosed) run.cancel();
    return this.#goOn(run, request);
  }

  /** Brings a person's answer to the run that waits for it. A ticket is good for one answer. */
  async resume(ticket: string, answer: ApprovalAnswer, request: ProgramRequest): Promise<ProgramAnswer> {
    const suspended = this.#takeSuspended(ticket);
    if (suspended === undefined) {
      return { kind: "reply", reply: errorReply("the program that asked is over; run it again") };
    }
    suspended.question.answer(answer);
    return this.#goOn(suspended.run, request);
  }

  /** Cancels every program, also those that are yet to come, and resolves when none can do anything any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const ticket of [...this.#suspended.keys()]) this.#takeSuspended(ticket);
    const runs = [...this.#runs];
    for (const run of runs) run.cancel();
    await Promise.all(runs.map((run) => run.ended()));
  }

  /** While the request's signal is aborted, so is the run. */
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
        // Nobody would ever come back with the answer to a request that was cancelled.
        if (request.signal.aborted || this.#isClosed) return this.#reply(await run.result());
        return { kind: "question", question, ticket: this.#suspend(run, question) };
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

  #countRunning(): number {
    const suspended = new Set([...this.#suspended.values()].map(({ run }) => run));
    return [...this.#runs].filter((run) => !suspended.has(run)).length;
  }

  #suspend(run: LiveRun, question: Question): string {
    run.detach();
    const [oldest] = this.#suspended.keys();
    if (oldest !== undefined && this.#suspended.size >= this.#options.maxPrograms) this.#abandon(oldest);
    const ticket = randomBytes(16).toString("hex");
    const timer = setTimeout(() => this.#abandon(ticket), ABANDONED_AFTER_MS);
    this.#suspended.set(ticket, { run, question, timer });
    return ticket;
  }

  #abandon(ticket: string): void {
    this.#takeSuspended(ticket)?.run.cancel();
  }

  #takeSuspended(ticket: string): Suspended | undefined {
    const suspended = this.#suspended.get(ticket);
    this.#suspended.delete(ticket);
    clearTimeout(suspended?.timer);
    return suspended;
  }

  async #reply({ executed, calls }: EndedRun, hints: readonly string[] = []): Promise<ProgramAnswer> {
    const known = await this.#options.known();
    const reply = buildProgramReply(executed, calls, {
      isReadOnly: (tool) => known.directory.find(tool)?.annotations?.readOnlyHint === true,
      hints: [...hints, ...(await hintsFor(executed.envelope, calls, known))],
    });
    return { kind: "reply", reply };
  }
}

function failedToAsk({ tool }: ApprovalRequest, error: unknown): string {
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, MAX_PROBLEM_CHARS);
  return `The program was cancelled because the client could not ask for an approval of ${tool}: ${reason}`;
}

function busy(maxPrograms: number): ToolReply {
  const { type, message } = buildFailure(
    "Busy",
    `${maxPrograms} programs are running, as many as are allowed at once; wait for one to end, or do more in one program`,
  );
  return errorReply(`[Script execution failed]\n${type}: ${message}`);
}
