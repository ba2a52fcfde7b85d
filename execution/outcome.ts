import type { EmittedBlock } from "../protocol/emitted.ts";
import type { Metrics } from "../protocol/envelope.ts";
import { buildFailure, type FailureType } from "../protocol/failure.ts";
import type { Trace } from "../protocol/messages.ts";
import type { Verdict } from "./judge.ts";
import type { Suspended } from "./suspended.ts";

/** What a run came to. */
export interface Outcome {
  verdict: Verdict;
  metrics?: Metrics;
  /** What its sandbox said that it runs in: an interpreter with its version, and packages with theirs. */
  runtime?: string;
  trace?: Trace | undefined;
  /** What the program emitted, as it did. */
  emitted?: readonly EmittedBlock[];
  /** What is to be said of answers that contradict what their tools promise, one line each. */
  warnings?: readonly string[];
  /** What to do about the outcome, one line each. */
  advice?: readonly string[];
  /** Present when the run is none that has ended, but one that waits for a person. */
  suspended?: Suspended | undefined;
}

/** The outcome of a run that failed before anything of it could be judged. */
export function fail(type: FailureType, message: string): Outcome {
  return { verdict: { ok: false, error: buildFailure(type, message) } };
}
