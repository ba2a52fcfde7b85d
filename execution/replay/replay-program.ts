import { writeJson } from "../../base/json.ts";
import { listUpTo } from "../../base/visible-text.ts";
import type { ModuleSource } from "../../languages/module-source.ts";
import type { Program } from "../../languages/program.ts";
import type { EmittedBlock } from "../../protocol/emitted.ts";
import type { Envelope } from "../../protocol/envelope.ts";
import { buildFailure, type Failure, type FailureType } from "../../protocol/failure.ts";
import type { ProgramEnvironment } from "../../protocol/messages.ts";
import { describeEmitted } from "../output/emitted-blocks.ts";
import type { ExecutedProgram } from "../output/executed-run.ts";
import { executeProgram, type ProgramScope } from "../program.ts";
import type { RecordedPii } from "../record/run-recorder.ts";
import { replaceResult } from "../seal.ts";
import { firstDifference } from "./first-difference.ts";
import { describeCall, type RecordedCall, RecordedCalls } from "./recorded-calls.ts";

/** The parts of a run that a replay needs. */
export interface RecordedRun {
  program: Program;
  envelope: Envelope;
  consoleText: string;
  /** What the program emitted. */
  emitted: readonly EmittedBlock[];
  calls: readonly RecordedCall[];
  environment: ProgramEnvironment;
  /** How personal data was redacted; `undefined` if it was not. */
  pii?: RecordedPii | undefined;
  /** Whether the record names all server modules, which messages may list. Records of older versions do not. */
  knowsModules: boolean;
}

/** The scope of a replay. */
export interface ReplayScope
  extends Omit<
    ProgramScope,
    "program" | "dispatcher" | "approver" | "recorder" | "checkPatienceMs" | "environment"
  > {
  readonly run: RecordedRun;
  /** A program to run instead of the recorded one, with the recorded answers. Nothing is compared then. */
  readonly edited?: Program | undefined;
  /** Redacts arguments as they were redacted for the record; `redactor` by default. */
  readonly comparing?: ProgramScope["redactor"] | undefined;
}

export interface Replayed extends ExecutedProgram {
  /** How the replay differs from the record, as one message; `undefined` when it does not. */
  divergence: string | undefined;
  /**
   * Why the replay cannot be compared, as one message: it was ended from outside or by its time limit, which says nothing about the
   * program. The replay does not count as diverged then.
   */
  undecided: string | undefined;
}

/** Failures of runs in which no program ran, so that there is nothing to replay. */
export const NEVER_RAN: ReadonlySet<string> = new Set<FailureType>([
  "SandboxUnavailable",
  "Busy",
  "InternalError",
]);

/** Failures that end a run from outside. How far the program got before depends on the machine. */
const CUT_BY_TIME: ReadonlySet<FailureType> = new Set(["Timeout", "Cancelled"]);

/** The replay of a cancelled run may take this many times as long as the run, because the machine may be busy. */
const CANCELLED_TIMES = 2;
const CANCELLED_MORE_MS = 1_000;

/** The replay of a run that ended by itself may take this many times as long as the run, and at least its time limit. */
const SLOWER_TIMES = 20;
const SLOWER_MORE_MS = 60_000;

/** How long a replay waits for the type check on which it depends. */
const CHECK_PATIENCE_MS = 10 * 60_000;

const MAX_HELD_CHARS = 300;

/** Advice for an edited program that needs more than the record has. */
const RUN_LIVE = "to use tools as they are now, run it with `ptc run`";

/**
 * Runs a recorded program again in a sandbox, with the recorded answers, clock, time zone and randomness. A difference is a
 * `ReplayDiverged` that names the first call or value. A run that time cut off is compared up to the cut. The replay may get
 * further, and is then reported with the recorded ending. A program that was refused before it ran is bundled and checked again. A
 * program that ran is not checked again, because a type check that has learned more since then is no difference.
 *
 * Timing never decides whether a replay is the same. A slow replay gets much more time than the run took. A replay that reaches its
 * limit all the same is undecided.
 */
export async function replayProgram(scope: ReplayScope): Promise<Replayed> {
  const stop = new AbortController();
  const { run, edited, comparing = scope.redactor, limits, signal } = scope;
  const cut = edited === undefined ? cutOf(run.envelope) : undefined;
  let unknown: string | undefined;
  const calls = new RecordedCalls(
    run.calls,
    (value) => comparing.redactValue(value).value,
    (message) => {
      unknown ??= edited === undefined ? message : `${message}; ${RUN_LIVE}`;
      if (cut === undefined || answered(calls.missing).length === 0) stop.abort();
    },
  );
  const timeoutMs = edited === undefined ? limitOf(run.envelope, limits.timeoutMs, cut) : limits.timeoutMs;
  const executed = await executeProgram({
    ...scope,
    program: edited ?? run.program,
    dispatcher: calls,
    approver: NOBODY,
    limits: { ...limits, timeoutMs },
    typecheck: edited === undefined && hasRun(run.envelope) ? "off" : scope.typecheck,
    checkPatienceMs: CHECK_PATIENCE_MS,
    environment: edited === undefined ? run.environment : withoutOrder(run.environment),
    signal: AbortSignal.any([signal, stop.signal]),
  });
  // An approved call without an answer is recorded as unanswered, so the state cannot be derived from the calls.
  const approval_state = edited === undefined ? run.envelope.approval_state : calls.approvalState;
  const envelope = { ...executed.envelope, approval_state };
  const reworded = edited === undefined ? sameButReworded(run, executed) : undefined;
  const undecided =
    edited === undefined && unknown === undefined
      ? whyUndecided(run.envelope, executed, {
          isCut: cut !== undefined,
          isCancelled: signal.aborted,
        })
      : undefined;
  const divergence =
    undecided !== undefined
      ? undefined
      : cut !== undefined
        ? await compareUpToCut(envelope, answered(calls.missing), unknown)
        : (unknown ??
          (edited === undefined
            ? await compare(run, executed, answered(calls.missing), reworded !== undefined)
            : undefined));
  let failure = cut ?? reworded ?? (edited === undefined ? undefined : adviseEdited(envelope, scope.modules));
  if (divergence !== undefined) failure = buildFailure("ReplayDiverged", divergence);
  else if (undecided !== undefined)
    failure = wasEnded(envelope) ? undefined : buildFailure("InternalError", undecided);
  return {
    ...executed,
    envelope: failure === undefined ? envelope : replaceResult(envelope, failure),
    divergence,
    undecided,
  };
}

/** Why a replay cannot be compared with the record; `undefined` when it can. */
function whyUndecided(
  recorded: Envelope,
  { envelope: { result }, unchecked, reasons }: ExecutedProgram,
  { isCut, isCancelled }: { isCut: boolean; isCancelled: boolean },
): string | undefined {
  if (isCancelled) return "the replay was cancelled";
  if (unchecked !== undefined && !hasRun(recorded))
    return `the types of the program could not be checked again (${unchecked}); replay it once more`;
  if (result.ok) return undefined;
  const { type, message } = result.error;
  if (NEVER_RAN.has(type)) return message;
  if (reasons.some(({ code }) => code === "out_of_time")) return `${message}; replay it once more`;
  return !isCut && type === "Timeout" ? `the replay was ended: ${message}; replay it once more` : undefined;
}

/** Whether a run was ended from outside or never began. */
function wasEnded({ result }: Envelope): boolean {
  return !result.ok && (NEVER_RAN.has(result.error.type) || CUT_BY_TIME.has(result.error.type));
}

/** Denies everything. A replay asks nobody, because the approvals are in the record. */
const NOBODY = { ask: async () => ({ decision: "denied" as const, by: "replay" }) };

/** Drops the recorded order of events, which an edited program need not follow. */
function withoutOrder({ replay, ...environment }: ProgramEnvironment): ProgramEnvironment {
  return replay === undefined ? environment : { ...environment, replay: { ...replay, events: "" } };
}

/** Whether the program got as far as its sandbox. */
function hasRun({ result }: Envelope): boolean {
  return result.ok || !failedBeforeRun(result.error);
}

/** The recorded failure, if the replay failed in the same way and only the wording differs between versions of ptc. */
function sameButReworded(
  { envelope: recorded, knowsModules }: RecordedRun,
  { envelope }: ExecutedProgram,
): Failure | undefined {
  if (recorded.result.ok || envelope.result.ok) return undefined;
  if (knowsModules && recorded.tool_version === envelope.tool_version) return undefined;
  const { error } = recorded.result;
  return isReworded(error, envelope.result.error) ? error : undefined;
}

/** The failure of an edited program that was refused before it ran, with advice that names the modules it was checked against. */
function adviseEdited({ result }: Envelope, modules: ModuleSource): Failure | undefined {
  if (result.ok || !failedBeforeRun(result.error)) return undefined;
  const { type, message } = result.error;
  const held = modules.modules().map((module) => `servers/${module}`);
  const holds = held.length === 0 ? "which has none" : `which has ${listUpTo(held, MAX_HELD_CHARS)}`;
  const advice = `it was checked against the modules in the record of the run, ${holds}: \`ptc generate\` does not change these; ${RUN_LIVE}`;
  return buildFailure(type, `${message}\n${advice}`);
}

async function compare(
  run: RecordedRun,
  { envelope: { output_digest, result }, emitted: replayed }: ExecutedProgram,
  [missing]: readonly RecordedCall[],
  isReworded: boolean,
): Promise<string | undefined> {
  const recorded = run.envelope.result;
  if (output_digest !== run.envelope.output_digest && !isReworded) {
    const difference = firstDifference(bare(recorded), bare(result));
    if (difference === undefined)
      return "the output digest differs, and the result does not: the record is broken";
    const { path, expected, got } = difference;
    return `the result differs at ${path}: expected ${expected}; got ${got}`;
  }
  const emitted = emittedDifference(run.emitted, replayed);
  if (emitted !== undefined) return emitted;
  // A program that runs out of memory may do so at another call each time.
  if (missing === undefined || (!recorded.ok && recorded.error.type === "OutOfMemory")) return undefined;
  return describeMissing(missing);
}

function emittedDifference(
  recorded: readonly EmittedBlock[],
  replayed: readonly EmittedBlock[],
): string | undefined {
  const most = recorded.length > replayed.length ? recorded : replayed;
  const at = most.findIndex((_, index) => writeJson(recorded[index]) !== writeJson(replayed[index]));
  if (at < 0) return undefined;
  const describe = (block: EmittedBlock | undefined) => {
    if (block === undefined) return "nothing more";
    const { what, bytes } = describeEmitted(block);
    return `${what}, ${bytes} bytes`;
  };
  return `what the program emitted differs at block ${at + 1}: expected ${describe(recorded[at])}; got ${describe(replayed[at])}`;
}

/** Compares up to the cut. When time also cut the replay, calls may be missing because it had no time to make them. */
async function compareUpToCut(
  replayed: Envelope,
  [missing]: readonly RecordedCall[],
  unknown: string | undefined,
): Promise<string | undefined> {
  if (missing === undefined) return undefined;
  return unknown ?? (cutOf(replayed) === undefined ? describeMissing(missing) : undefined);
}

async function describeMissing({ seq, tool, arguments: args }: RecordedCall): Promise<string> {
  return `the program did not make call ${seq}: expected ${describeCall(tool, await args())}; got no such call`;
}

/** The recorded calls that were answered. */
function answered(calls: readonly RecordedCall[]): RecordedCall[] {
  return calls.filter(({ decision }) => decision !== "unanswered");
}

function cutOf({ result }: Envelope): Failure | undefined {
  return !result.ok && CUT_BY_TIME.has(result.error.type) ? result.error : undefined;
}

function limitOf({ result }: Envelope, timeoutMs: number, cut: Failure | undefined): number {
  const tookMs = result.metrics.duration_ms;
  if (cut === undefined) return Math.max(timeoutMs, SLOWER_TIMES * tookMs + SLOWER_MORE_MS);
  if (cut.type !== "Cancelled") return timeoutMs;
  return Math.min(timeoutMs, CANCELLED_TIMES * tookMs + CANCELLED_MORE_MS);
}

/** The part of a result that the output digest covers. */
function bare(result: Envelope["result"]): object {
  return result.ok ? { ok: true, data: result.data } : { ok: false, error: result.error };
}

/** Failures of programs that were refused before they ran. */
const NOT_RUN: ReadonlySet<FailureType> = new Set(["TypeCheckError", "BundleError"]);

/** Whether a program failed while it was bundled and checked. */
function failedBeforeRun(error: Failure): boolean {
  return NOT_RUN.has(error.type);
}

/**
 * Whether two failures of programs that were refused before they ran differ only in the wording of another version of ptc. They must
 * have the same type and name the same places. Messages without places count as different, because only their words could be compared.
 */
export function isReworded(recorded: Failure, replayed: Failure): boolean {
  const places = placesIn(recorded.message);
  return (
    failedBeforeRun(recorded) &&
    recorded.type === replayed.type &&
    places !== "" &&
    places === placesIn(replayed.message)
  );
}

/** The places at the beginnings of a message's lines, such as `program.ts:1:15`. */
function placesIn(message: string): string {
  return (message.match(/^\S.*?:\d+:\d+(?=: )/gm) ?? []).join("\n");
}
