import type { ValueSource } from "../protocol/claim.ts";
import type { EmittedBlock } from "../protocol/emitted.ts";
import type { Metrics } from "../protocol/envelope.ts";
import { buildFailure, type Failure, type FailureType } from "../protocol/failure.ts";
import type { Trace } from "../protocol/messages.ts";

/** How a run ended: its value, or its failure. */
export type Verdict = { ok: true; data: unknown; from: ValueSource } | { ok: false; error: Failure };

/** A run that was suspended: what its client needs to continue it. */
export interface Suspended {
  ticket: string;
  tool: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** What a run came to. */
export interface Outcome {
  verdict: Verdict;
  metrics?: Metrics;
  /** What its sandbox said that it runs in: an interpreter with its version, and packages with theirs. */
  runtime?: string;
  trace?: Trace | undefined;
  /** What the program emitted, as it did. */
  emitted?: readonly EmittedBlock[];
  /** How answers of tools contradict what their tools promise, one line each. */
  warnings?: readonly string[];
  /** What to do about the outcome, one line each. */
  advice?: readonly string[];
  /** Present when the run has not ended, but waits for a person. */
  suspended?: Suspended | undefined;
}

/** The outcome of a run that failed before anything of it could be judged. */
export function fail(type: FailureType, message: string): Outcome {
  return { verdict: { ok: false, error: buildFailure(type, message) } };
}
