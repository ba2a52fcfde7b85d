import { randomBytes } from "node:crypto";
import type { ApprovalAnswer } from "../broker/approvals.ts";
import type { CallRecord } from "../execution/call-log.ts";
import { buildFailure } from "../protocol/failure.ts";
import { hintsFor, type KnownTools } from "./hints.ts";
import { LiveRun } from "./live-run.ts";
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

/** How long a question may wait before it counts as denied, and its run as abandoned. */
const ANSWER_TIMEOUT_MS = 10 * 60_000;

interface Suspended {
  run: LiveRun;
  question: Question;
  timer: NodeJS.Timeout;
}

/** The programs of one client: runs them side by side up to a number, and holds those that wait for a person's answer. */
export class Programs {
  readonly #options: ProgramsOptions;
  readonly #runs = new Set<LiveRun>();
  readonly #suspended = new Map<string, Suspended>();

  constructor(options: ProgramsOptions) {
    this.#options = options;
  }

  async start(args: ExecuteProgramArguments, request: ProgramRequest): Promise<ProgramAnswer> {
    const { runner, clock, maxPrograms } = this.#options;
    if (this.#runs.size >= maxPrograms) return { kind: "reply", reply: busy(maxPrograms) };
    const run = new LiveRun(args, runner, clock, () => request.canAsk);
    this.#runs.add(run);
    return this.#goOn(run, request);
  }

  /** Brings a person's answer to the run that waits for it. A ticket is good for one answer. */
  async resume(ticket: string, answer: ApprovalAnswer, request: ProgramRequest): Promise<ProgramAnswer> {
    const suspended = this.#suspended.get(ticket);
    if (suspended === undefined) {
      return { kind: "reply", reply: errorReply("the program that asked is over; run it again") };
    }
    this.#suspended.delete(ticket);
    clearTimeout(suspended.timer);
    suspended.question.answer(answer);
    return this.#goOn(suspended.run, request);
  }

  /** Cancels every program, and resolves when none can do anything any more. */
  async close(): Promise<void> {
    for (const { timer } of this.#suspended.values()) clearTimeout(timer);
    this.#suspended.clear();
    const runs = [...this.#runs];
    for (const run of runs) run.cancel();
    await Promise.all(runs.map((run) => run.ended()));
  }

  async #goOn(run: LiveRun, request: ProgramRequest): Promise<ProgramAnswer> {
    const event = await run.next(request).catch((error: unknown) => {
      this.#runs.delete(run);
      throw error;
    });
    if (event.kind === "question") {
      const ticket = this.#suspend(run, event.question);
      return { kind: "question", question: event.question, ticket };
    }
    this.#runs.delete(run);
    return { kind: "reply", reply: await this.#reply(event.executed, event.calls) };
  }

  #suspend(run: LiveRun, question: Question): string {
    const ticket = randomBytes(16).toString("hex");
    const timer = setTimeout(() => {
      this.#suspended.delete(ticket);
      run.cancel();
      void run.ended().then(() => this.#runs.delete(run));
    }, ANSWER_TIMEOUT_MS);
    this.#suspended.set(ticket, { run, question, timer });
    return ticket;
  }

  async #reply(
    executed: Parameters<typeof buildProgramReply>[0],
    calls: readonly CallRecord[],
  ): Promise<ToolReply> {
    const known = await this.#options.known();
    return buildProgramReply(executed, calls, {
      isReadOnly: (tool) => known.directory.find(tool)?.annotations?.readOnlyHint === true,
      hints: await hintsFor(executed.envelope, calls, known),
    });
  }
}

function busy(maxPrograms: number): ToolReply {
  const { type, message } = buildFailure(
    "Busy",
    `${maxPrograms} programs are running, as many as are allowed at once; wait for one to end, or do more in one program`,
  );
  return errorReply(`[Script execution failed]\n${type}: ${message}`);
}
