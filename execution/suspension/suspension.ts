import { setTimeout as delay } from "node:timers/promises";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type RunApprovals,
  UNASKED,
} from "../../broker/approvals/approvals.ts";
import type { RequestedCall } from "../../broker/dispatcher.ts";
import type { SandboxConnection } from "../../broker/sandbox-connection.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { Trace } from "../../protocol/messages.ts";
import type { Suspended } from "../outcome.ts";
import type { KeptCall, KeptCalls } from "./kept-calls.ts";
import type { KeptRun } from "./suspended-run.ts";

/** How long a program has to send its trace. A program that computes all that time is resumed from its last trace. */
const TRACE_PATIENCE_MS = 2_000;
const POLL_MS = 5;
const TOO_LARGE = "its run has read too much to be kept until somebody can be";

/** The state of a run at the moment of its suspension. */
export interface Moment {
  calls: readonly KeptCall[];
  trace: Trace | undefined;
  insideMs: number;
  /** Whether the trace has everything up to this moment; by default nobody knows. */
  isTraced?: boolean;
}

/** A program or a call that can be stopped for a suspension. */
export interface Stoppable {
  /** Starts nothing more. Resolves with the state when nothing is under way; with `undefined` if the state is too large to keep. */
  stop(): Promise<Moment | undefined>;
  /** Continues, because the run cannot be suspended. */
  goOn(): void;
}

/** Suspends one run when it has a question that nobody answers while its client waits. */
export class Suspension {
  readonly #keep: (moment: Moment, question: ApprovalRequest, ticket: string | undefined) => Promise<KeptRun>;
  #running: Stoppable | undefined;
  #suspend: (suspended: Suspended) => void = () => {};
  /** Resolves when the run is kept and its sandbox can go. Never resolves otherwise. */
  readonly suspended: Promise<Suspended>;

  /** @param keep resolves when the kept run would survive the end of this process. */
  constructor(
    keep: (moment: Moment, question: ApprovalRequest, ticket: string | undefined) => Promise<KeptRun>,
  ) {
    this.#keep = keep;
    this.suspended = new Promise((resolve) => {
      this.#suspend = resolve;
    });
  }

  /** The program or the call has begun. */
  begin(running: Stoppable): void {
    this.#running = running;
  }

  /**
   * Suspends the run because of a question. Waits for calls under way first, because nobody could tell later whether they were made.
   * Resolves only when the run cannot be suspended. The run then continues with the answer.
   */
  async request(question: ApprovalRequest, ticket: string | undefined): Promise<ApprovalAnswer> {
    const running = this.#running;
    if (running === undefined) return UNASKED;
    const moment = await running.stop();
    const kept: KeptRun =
      moment === undefined ? { ok: false, why: TOO_LARGE } : await this.#keep(moment, question, ticket);
    if (kept.ok) {
      this.#suspend({ ticket: kept.ticket, tool: question.tool, expiresAt: kept.expiresAt });
      return new Promise(() => {});
    }
    running.goOn();
    return { ...UNASKED, why: kept.why };
  }
}

/** A program in its sandbox, whose calls are `calls`. */
export function stoppableProgram(
  connection: SandboxConnection,
  approvals: Pick<RunApprovals, "waiting">,
  calls: KeptCalls,
  elapsedMs: () => number,
): Stoppable {
  return {
    async stop() {
      connection.hold();
      while (connection.active > approvals.waiting) await delay(POLL_MS);
      const isTraced = await connection.requestTrace(TRACE_PATIENCE_MS);
      const made = calls.list();
      return made && { calls: made, trace: connection.trace, insideMs: elapsedMs(), isTraced };
    },
    goOn: () => connection.letGo(),
  };
}

/** A single call that waits for its approval, so that nothing is under way. It is kept as the program that it stands for. */
export function stoppableCall({
  tool,
  arguments: args,
}: Pick<RequestedCall, "tool" | "arguments">): Stoppable {
  const kept = { tool, argumentsDigest: digestOf(args ?? null), raw: false, startedMs: 0, durationMs: 0 };
  return { stop: async () => ({ calls: [kept], trace: undefined, insideMs: 0 }), goOn: () => {} };
}
