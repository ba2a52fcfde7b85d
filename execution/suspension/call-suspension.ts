import { type ApprovalAnswer, type ApprovalRequest, UNASKED } from "../../broker/approvals/approvals.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import type { Suspended } from "../suspended.ts";
import type { KeptRun, SuspendedRun } from "./suspended-run.ts";

/** What is known of a call beside the call itself, when it is suspended. */
interface CallFacts
  extends Pick<
    SuspendedRun,
    "runId" | "traceId" | "startedAt" | "program" | "knownModules" | "environment" | "limits" | "approvals"
  > {
  durationMs: number;
}

/** A call that waits for an approval as the run of the program that it stands for, which has come to that call. */
export function callAsRun(
  { tool, arguments: args }: { tool: string; arguments: unknown },
  { durationMs, ...facts }: CallFacts,
): SuspendedRun {
  return {
    ...facts,
    modules: [],
    trace: undefined,
    typecheck: "off",
    calls: [{ tool, argumentsDigest: digestOf(args ?? null), raw: false, startedMs: 0, durationMs: 0 }],
    spent: { durationMs, insideMs: 0 },
  };
}

/** Suspends a single call when nobody answers its question in time: nothing of it is under way then. */
export class CallSuspension {
  readonly #keep: (question: ApprovalRequest, ticket: string | undefined) => Promise<KeptRun>;
  #suspend: (suspended: Suspended) => void = () => {};
  /** Resolves when the call is kept; never for any other call. */
  readonly suspended: Promise<Suspended>;

  constructor(keep: (question: ApprovalRequest, ticket: string | undefined) => Promise<KeptRun>) {
    this.#keep = keep;
    this.suspended = new Promise((resolve) => {
      this.#suspend = resolve;
    });
  }

  /** Resolves only when the call cannot be kept, with the answer that then counts. */
  async request(question: ApprovalRequest, ticket: string | undefined): Promise<ApprovalAnswer> {
    const kept = await this.#keep(question, ticket);
    if (!kept.ok) return { ...UNASKED, why: kept.why };
    this.#suspend({ ticket: kept.ticket, tool: question.tool, expiresAt: kept.expiresAt });
    return new Promise(() => {});
  }
}
