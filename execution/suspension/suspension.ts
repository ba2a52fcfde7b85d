import { setTimeout as delay } from "node:timers/promises";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type RunApprovals,
  UNASKED,
} from "../../broker/approvals/approvals.ts";
import type { SandboxConnection } from "../../broker/sandbox-connection.ts";
import type { Trace } from "../../protocol/messages.ts";
import type { Suspended } from "../suspended.ts";
import type { KeptCall, KeptCalls } from "./kept-calls.ts";
import type { KeptRun } from "./suspended-run.ts";

/** How long a program has to tell what it has seen. One that computes all that time is resumed from what it told before. */
const TRACE_PATIENCE_MS = 2_000;
const POLL_MS = 5;
const TOO_LARGE = "its run has read too much to be kept until somebody can be";

/** What is known of a run at the moment of its suspension. */
export interface Moment {
  calls: readonly KeptCall[];
  trace: Trace | undefined;
  insideMs: number;
}

interface Running {
  connection: SandboxConnection;
  approvals: RunApprovals;
  calls: KeptCalls;
  elapsedMs: () => number;
}

/** Suspends one run when it has a question that nobody answers while its client waits. */
export class Suspension {
  readonly #keep: (moment: Moment, question: ApprovalRequest, ticket: string | undefined) => Promise<KeptRun>;
  #running: Running | undefined;
  #suspend: (suspended: Suspended) => void = () => {};
  /** Resolves when the run is kept and its sandbox can go; never for any other run. */
  readonly suspended: Promise<Suspended>;

  /** @param keep resolves when what is kept would survive the end of this process. */
  constructor(
    keep: (moment: Moment, question: ApprovalRequest, ticket: string | undefined) => Promise<KeptRun>,
  ) {
    this.#keep = keep;
    this.suspended = new Promise((resolve) => {
      this.#suspend = resolve;
    });
  }

  /** The program has begun. */
  begin(running: Running): void {
    this.#running = running;
  }

  /**
   * Suspends the run because of a question. Calls that are under way are waited for first, because nobody could say later
   * whether they were made. Resolves only when the run cannot be suspended: then it goes on with the answer.
   */
  async request(question: ApprovalRequest, ticket: string | undefined): Promise<ApprovalAnswer> {
    const running = this.#running;
    if (running === undefined) return UNASKED;
    const { connection, approvals, calls, elapsedMs } = running;
    connection.hold();
    while (connection.active > approvals.waiting) await delay(POLL_MS);
    await connection.requestTrace(TRACE_PATIENCE_MS);
    const made = calls.list();
    const kept: KeptRun =
      made === undefined
        ? { ok: false, why: TOO_LARGE }
        : await this.#keep({ calls: made, trace: connection.trace, insideMs: elapsedMs() }, question, ticket);
    if (kept.ok) {
      this.#suspend({ ticket: kept.ticket, tool: question.tool, expiresAt: kept.expiresAt });
      return new Promise(() => {});
    }
    connection.letGo();
    return { ...UNASKED, why: kept.why };
  }
}
