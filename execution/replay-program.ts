import type { Envelope } from "../protocol/envelope.ts";
import { buildFailure, type FailureType } from "../protocol/failure.ts";
import type { ProgramEnvironment } from "../protocol/messages.ts";
import {
  type ExecutedProgram,
  type ExecutionParts,
  executeProgram,
  type RunOptions,
} from "./execute-program.ts";
import { firstDifference } from "./first-difference.ts";
import type { Program } from "./program.ts";
import { describeCall, type RecordedCall, RecordedCalls } from "./recorded-calls.ts";
import { replaceResult } from "./seal.ts";

/** A run as far as a replay needs it. */
export interface RecordedRun {
  program: Program;
  envelope: Envelope;
  consoleText: string;
  calls: readonly RecordedCall[];
  environment: ProgramEnvironment;
}

export interface ReplayOptions extends Pick<RunOptions, "limits" | "typecheck" | "onConsole" | "signal"> {
  /** Runs this instead of the recorded program, against what was recorded; then nothing is compared. */
  edited?: Program | undefined;
}

export interface Replayed extends ExecutedProgram {
  /** How it came to something else than the record, as one message; `undefined` when it did not. */
  divergence: string | undefined;
}

/** Ends that come from outside: what a program had not done yet by then is no difference. */
const CUT_SHORT: ReadonlySet<FailureType> = new Set(["Timeout", "Cancelled", "OutOfMemory"]);

/**
 * Runs a recorded program again in a sandbox, with its calls answered from the record and the clock, the time zone and the
 * randomness it had then. What does not come out as it did is `ReplayDiverged`, naming the first call or value.
 */
export async function replayProgram(
  run: RecordedRun,
  parts: Omit<ExecutionParts, "dispatcher" | "approver" | "recorder">,
  options: ReplayOptions,
): Promise<Replayed> {
  const stop = new AbortController();
  let unknown: string | undefined;
  const calls = new RecordedCalls(
    run.calls,
    (value) => parts.redactor.redactValue(value).value,
    (message) => {
      unknown ??= message;
      stop.abort();
    },
  );
  const { edited } = options;
  const executed = await executeProgram(
    edited ?? run.program,
    { ...parts, dispatcher: calls, approver: NOBODY },
    {
      limits: options.limits,
      typecheck: options.typecheck,
      ...(options.onConsole === undefined ? {} : { onConsole: options.onConsole }),
      environment: edited === undefined ? run.environment : withoutOrder(run.environment),
      signal: AbortSignal.any([options.signal, stop.signal]),
    },
  );
  const divergence =
    unknown ?? (edited === undefined ? compare(run, executed.envelope, calls.missing) : undefined);
  if (divergence === undefined) return { ...executed, divergence };
  const envelope = replaceResult(executed.envelope, buildFailure("ReplayDiverged", divergence));
  return { ...executed, envelope, divergence };
}

/** Approvals are part of the record. */
const NOBODY = { ask: async () => ({ decision: "denied" as const, by: "replay" }) };

/** An edited program need not wait for what another one waited for. */
function withoutOrder({ replay, ...environment }: ProgramEnvironment): ProgramEnvironment {
  return replay === undefined ? environment : { ...environment, replay: { ...replay, events: "" } };
}

function compare(
  run: RecordedRun,
  { output_digest, result }: Envelope,
  missing: readonly RecordedCall[],
): string | undefined {
  const recorded = run.envelope.result;
  if (output_digest !== run.envelope.output_digest) {
    const difference = firstDifference(bare(recorded), bare(result));
    if (difference === undefined)
      return "the output digest differs, and the result does not: the record is broken";
    const { path, expected, got } = difference;
    return `the result differs at ${path}: expected ${expected}; got ${got}`;
  }
  const [first] = missing.filter(({ decision }) => decision !== "unanswered");
  if (first === undefined || (!recorded.ok && CUT_SHORT.has(recorded.error.type))) return undefined;
  return `the program did not make call ${first.seq}: expected ${describeCall(first.tool, first.arguments())}; got no such call`;
}

/** What the output digest covers. */
function bare(result: Envelope["result"]): object {
  return result.ok ? { ok: true, data: result.data } : { ok: false, error: result.error };
}
