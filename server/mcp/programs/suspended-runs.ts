import { randomBytes } from "node:crypto";
import { whenAborted } from "../../../base/or-aborted.ts";
import { LATER } from "../../../broker/approvals/approvals.ts";
import type { Question } from "../questions/questions.ts";
import type { LiveRun } from "./live-run.ts";

/** How long a run keeps its sandbox for the answer to a question that the client was given. */
const PATIENCE_MS = 60_000;
/** The same where the run cannot be kept without its sandbox. Then it is cancelled. */
const LAST_PATIENCE_MS = 5 * 60_000;
/** How long a run that has ended is there for the client, which was given a question that somebody else answered. */
const ENDED_PATIENCE_MS = 5 * 60_000;
const TICKET_BYTES = 8;

/** A run that waits for the answer to a question that the client was given. */
interface WaitingRun {
  run: LiveRun;
  question: Question;
}

/** Runs that wait in this process, by ticket. Each question has its own ticket, which can be used once. */
export class SuspendedRuns {
  readonly #maxRuns: () => number;
  readonly #isKept: boolean;
  /** Oldest first. */
  readonly #byTicket = new Map<string, WaitingRun & { timer: NodeJS.Timeout }>();
  /** Runs whose question was answered by another way than by their client, which comes back for them. */
  readonly #wentOn = new Map<string, WaitingRun>();
  /** Runs that give up their sandboxes just now. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #leavingRuns = new Set<LiveRun>();

  /**
   * @param maxRuns the most runs that wait with their sandboxes. One more has the oldest give up its.
   * @param isKept whether a run that is given up waits on without its sandbox, under the same ticket; else it is cancelled.
   */
  constructor(maxRuns: () => number, isKept: boolean) {
    this.#maxRuns = maxRuns;
    this.#isKept = isKept;
  }

  /**
   * Lets a run wait. Returns its ticket.
   *
   * @param onAnswered is called when the question is answered by another way, and the run goes on.
   */
  add(run: LiveRun, question: Question, onAnswered: () => void): string {
    run.detach();
    const ticket = this.#wait(run, question);
    question.withdrawn.addEventListener(
      "abort",
      () => {
        if (this.#remove(ticket) === undefined) return;
        onAnswered();
        void this.#follow(ticket, { run, question });
      },
      { once: true },
    );
    return ticket;
  }

  /** Removes and returns the run with this ticket. `undefined` when none waits in this process any more. */
  async take(ticket: string): Promise<WaitingRun | undefined> {
    const suspended = this.#remove(ticket) ?? this.#wentOn.get(ticket);
    this.#wentOn.delete(ticket);
    if (suspended === undefined) await this.#leaving.get(ticket);
    // What it may have come to ask by now is put to this client.
    for (const [other, { run }] of this.#byTicket) if (run === suspended?.run) this.#remove(other);
    return suspended;
  }

  /** Gives up the sandboxes of all of them. */
  clear(): void {
    for (const ticket of [...this.#byTicket.keys()]) this.#giveUp(ticket);
    this.#wentOn.clear();
  }

  /** Whether this run waits on without its sandbox, or is about to. */
  isLeaving(run: LiveRun): boolean {
    return this.#leavingRuns.has(run);
  }

  #wait(run: LiveRun, question: Question): string {
    const own = question.kind === "approval" ? question.request.ticket : undefined;
    const ticket = own ?? randomBytes(TICKET_BYTES).toString("hex");
    this.#remove(ticket);
    const [oldest] = this.#byTicket.keys();
    if (oldest !== undefined && this.#byTicket.size >= this.#maxRuns()) this.#giveUp(oldest);
    const patienceMs = this.#isKept && question.kind === "approval" ? PATIENCE_MS : LAST_PATIENCE_MS;
    const timer = setTimeout(() => this.#giveUp(ticket), patienceMs);
    this.#byTicket.set(ticket, { run, question, timer });
    return ticket;
  }

  /** Holds a run that went on for its client. A further question of it waits as long as any, also where its client is gone. */
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
    this.#leaving.set(
      ticket,
      run.ended().then(() => {
        this.#leaving.delete(ticket);
        this.#leavingRuns.delete(run);
      }),
    );
  }
}
