import { randomBytes } from "node:crypto";
import { LATER } from "../../../broker/approvals/approvals.ts";
import type { Question } from "../questions/questions.ts";
import type { LiveRun } from "./live-run.ts";

/** How long a run keeps its sandbox for the answer to a question that the client was given. */
const PATIENCE_MS = 60_000;
/** The same where the run cannot be kept without its sandbox. Then it is cancelled. */
const LAST_PATIENCE_MS = 5 * 60_000;
const TICKET_BYTES = 8;

/** A run that waits for the answer to a question that the client was given. */
interface WaitingRun {
  run: LiveRun;
  question: Question;
}

/** Runs that wait in this process, by ticket. Each wait has its own ticket, which can be used once. */
export class SuspendedRuns {
  readonly #maxRuns: () => number;
  readonly #isKept: boolean;
  /** Oldest first. */
  readonly #byTicket = new Map<string, WaitingRun & { timer: NodeJS.Timeout }>();
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

  /** Lets a run wait. Returns its ticket. */
  add(run: LiveRun, question: Question): string {
    run.detach();
    const [oldest] = this.#byTicket.keys();
    if (oldest !== undefined && this.#byTicket.size >= this.#maxRuns()) this.#giveUp(oldest);
    const ticket = randomBytes(TICKET_BYTES).toString("hex");
    const patienceMs = this.#isKept && question.kind === "approval" ? PATIENCE_MS : LAST_PATIENCE_MS;
    const timer = setTimeout(() => this.#giveUp(ticket), patienceMs);
    this.#byTicket.set(ticket, { run, question, timer });
    return ticket;
  }

  /** Removes and returns the run with this ticket. `undefined` when none waits in this process any more. */
  async take(ticket: string): Promise<WaitingRun | undefined> {
    const suspended = this.#remove(ticket);
    if (suspended === undefined) await this.#leaving.get(ticket);
    return suspended;
  }

  /** Gives up the sandboxes of all of them. */
  clear(): void {
    for (const ticket of [...this.#byTicket.keys()]) this.#giveUp(ticket);
  }

  /** Whether this run waits on without its sandbox, or is about to. */
  isLeaving(run: LiveRun): boolean {
    return this.#leavingRuns.has(run);
  }

  #remove(ticket: string): WaitingRun | undefined {
    const suspended = this.#byTicket.get(ticket);
    this.#byTicket.delete(ticket);
    clearTimeout(suspended?.timer);
    return suspended;
  }

  #giveUp(ticket: string): void {
    const { run, question } = this.#remove(ticket) ?? {};
    if (run === undefined || question === undefined) return;
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
