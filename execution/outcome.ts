import type { ToolAnswer } from "../languages/tool-answers.ts";
import type { ValueSource } from "../protocol/claim.ts";
import type { EmittedBlock } from "../protocol/emitted.ts";
import type { Metrics } from "../protocol/envelope.ts";
import { buildFailure, type Failure, type FailureType } from "../protocol/failure.ts";
import type { Trace } from "../protocol/messages.ts";

/** How a run ended: its value, or its failure. */
export type Verdict = { ok: true; data: unknown; from: ValueSource } | { ok: false; error: Failure };

/** What a client needs to continue a suspended run. */
export interface Suspended {
  ticket: string;
  tool: string;
  /** Milliseconds since 1970. */
  expiresAt: number;
}

/** The outcome of a run. */
export interface Outcome {
  verdict: Verdict;
  metrics?: Metrics;
  /** The runtime as the sandbox reports it: the interpreter and packages, each with its version. */
  runtime?: string;
  trace?: Trace | undefined;
  /** The blocks that the program emitted, unchanged. */
  emitted?: readonly EmittedBlock[];
  /** How answers contradict the schemas of their tools, one line each. */
  warnings?: readonly string[];
  /** Sketches of what tools answered last, for advice. */
  answers?: readonly ToolAnswer[];
  /** What to do about the outcome, one line each. */
  advice?: readonly string[];
  /** Present when the run has not ended, but waits for a person. */
  suspended?: Suspended | undefined;
}

/** The outcome of a run that failed before it could be judged. */
export function fail(type: FailureType, message: string): Outcome {
  return { verdict: { ok: false, error: buildFailure(type, message) } };
}
