import type { Envelope } from "../protocol/envelope.ts";
import { buildFailure, type Failure, type FailureType } from "../protocol/failure.ts";
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

/** How runs ended of which no program became anything, so that there is nothing to replay. */
export const NEVER_RAN: ReadonlySet<string> = new Set<FailureType>([
  "SandboxUnavailable",
  "Busy",
  "InternalError",
]);

/** Ends that came with time. How far a program gets in a time is not its own doing. */
const CUT_BY_TIME: ReadonlySet<FailureType> = new Set(["Timeout", "Cancelled"]);

/** A cancelled run is given the time that it had then, and more where a machine is busy. */
const CANCELLED_TIMES = 2;
const CANCELLED_MORE_MS = 1_000;

/**
 * Runs a recorded program again in a sandbox, with its calls answered from the record and the clock, the time zone and the
 * randomness it had then. What does not come out as it did is `ReplayDiverged`, naming the first call or value. A run that
 * was cut by time is compared up to the cut: its program may get further, and then ends as it did.
 */
export async function replayProgram(
  run: RecordedRun,
  parts: Omit<ExecutionParts, "dispatcher" | "approver" | "recorder">,
  options: ReplayOptions,
): Promise<Replayed> {
  const stop = new AbortController();
  const { edited } = options;
  const cut = edited === undefined ? cutOf(run.envelope) : undefined;
  let unknown: string | undefined;
  const calls = new RecordedCalls(
    run.calls,
    (value) => parts.redactor.redactValue(value).value,
    (message) => {
      unknown ??= message;
      if (cut === undefined || answered(calls.missing).length === 0) stop.abort();
    },
  );
  const executed = await executeProgram(
    edited ?? run.program,
    { ...parts, dispatcher: calls, approver: NOBODY },
    {
      limits: { ...options.limits, timeoutMs: limitOf(run.envelope, options.limits.timeoutMs, cut) },
      typecheck: options.typecheck,
      ...(options.onConsole === undefined ? {} : { onConsole: options.onConsole }),
      environment: edited === undefined ? run.environment : withoutOrder(run.environment),
      signal: AbortSignal.any([options.signal, stop.signal]),
    },
  );
  // A call that was approved and then not answered is recorded as the latter.
  const approval_state = edited === undefined ? run.envelope.approval_state : calls.approvalState;
  const envelope = { ...executed.envelope, approval_state };
  const divergence =
    cut !== undefined && !options.signal.aborted && !neverRan(envelope)
      ? compareUpToCut(envelope, answered(calls.missing), unknown)
      : (unknown ?? (edited === undefined ? compare(run, envelope, answered(calls.missing)) : undefined));
  const failure = divergence === undefined ? cut : buildFailure("ReplayDiverged", divergence);
  return {
    ...executed,
    envelope: failure === undefined ? envelope : replaceResult(envelope, failure),
    divergence,
  };
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
  [missing]: readonly RecordedCall[],
): string | undefined {
  const recorded = run.envelope.result;
  if (output_digest !== run.envelope.output_digest) {
    const difference = firstDifference(bare(recorded), bare(result));
    if (difference === undefined)
      return "the output digest differs, and the result does not: the record is broken";
    const { path, expected, got } = difference;
    return `the result differs at ${path}: expected ${expected}; got ${got}`;
  }
  // Memory is not counted so closely that it is full at the same call.
  if (missing === undefined || (!recorded.ok && recorded.error.type === "OutOfMemory")) return undefined;
  return describeMissing(missing);
}

/** Of a program that time cut again, or that came to a further call, calls may be missing that it was not given time for. */
function compareUpToCut(
  replayed: Envelope,
  [missing]: readonly RecordedCall[],
  unknown: string | undefined,
): string | undefined {
  if (missing === undefined) return undefined;
  return unknown ?? (cutOf(replayed) === undefined ? describeMissing(missing) : undefined);
}

function describeMissing({ seq, tool, arguments: args }: RecordedCall): string {
  return `the program did not make call ${seq}: expected ${describeCall(tool, args())}; got no such call`;
}

/** Calls that the program got its answer to. */
function answered(calls: readonly RecordedCall[]): RecordedCall[] {
  return calls.filter(({ decision }) => decision !== "unanswered");
}

function cutOf({ result }: Envelope): Failure | undefined {
  return !result.ok && CUT_BY_TIME.has(result.error.type) ? result.error : undefined;
}

function neverRan({ result }: Envelope): boolean {
  return !result.ok && NEVER_RAN.has(result.error.type);
}

function limitOf({ result }: Envelope, timeoutMs: number, cut: Failure | undefined): number {
  if (cut?.type !== "Cancelled") return timeoutMs;
  return Math.min(timeoutMs, CANCELLED_TIMES * result.metrics.duration_ms + CANCELLED_MORE_MS);
}

/** What the output digest covers. */
function bare(result: Envelope["result"]): object {
  return result.ok ? { ok: true, data: result.data } : { ok: false, error: result.error };
}
