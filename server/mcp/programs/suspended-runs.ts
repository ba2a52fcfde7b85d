import { randomBytes } from "node:crypto";
import type { Question } from "../questions/questions.ts";
import type { LiveRun } from "./live-run.ts";

/** How long a run waits for the answer to a question that the client was given. Then it is cancelled. */
const ABANDONED_AFTER_MS = 5 * 60_000;

/** A run that waits for the answer to a question that the client was given. */
export interface SuspendedRun {
  run: LiveRun;
  question: Question;
}

/** Suspended runs by ticket. Each suspension has its own ticket, which can be used once. */
export class SuspendedRuns {
  readonly #maxRuns: () => number;
  /** Oldest first. */
  readonly #byTicket = new Map<string, SuspendedRun & { timer: NodeJS.Timeout }>();

  /** @param maxRuns the most runs that wait. One more cancels the oldest. */
  constructor(maxRuns: () => number) {
    this.#maxRuns = maxRuns;
  }

  /** Suspends a run. Returns its ticket. */
  add(run: LiveRun, question: Question): string {
    run.detach();
    const [oldest] = this.#byTicket.keys();
    if (oldest !== undefined && this.#byTicket.size >= this.#maxRuns()) this.#abandon(oldest);
    const ticket = randomBytes(16).toString("hex");
    const timer = setTimeout(() => this.#abandon(ticket), ABANDONED_AFTER_MS);
    this.#byTicket.set(ticket, { run, question, timer });
    return ticket;
  }

  /** Removes and returns the run with this ticket; `undefined` when there is none. */
  take(ticket: string): SuspendedRun | undefined {
    const suspended = this.#byTicket.get(ticket);
    this.#byTicket.delete(ticket);
    clearTimeout(suspended?.timer);
    return suspended;
  }

  /** Removes all of them without cancelling any. */
  clear(): void {
    for (const ticket of [...this.#byTicket.keys()]) this.take(ticket);
  }

  #abandon(ticket: string): void {
    this.take(ticket)?.run.cancel();
  }
}
