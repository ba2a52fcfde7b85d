import { randomBytes, randomUUID } from "node:crypto";
import { type Approver, RunApprovals } from "../broker/approvals.ts";
import type { CallDispatcher } from "../broker/dispatcher.ts";
import type { Redactor } from "../broker/redaction.ts";
import type { ValueSource } from "../protocol/claim.ts";
import type { ConsoleEntry } from "../protocol/console-stream.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { MAX_CLAIM_FAILURE_BYTES } from "../protocol/limits.ts";
import type { ProgramEnvironment } from "../protocol/messages.ts";
import { TRUNCATION_MARK } from "../protocol/text-cap.ts";
import type { Sandbox, SandboxSource } from "../sandbox/sandbox.ts";
import { SandboxError } from "../sandbox/sandbox-error.ts";
import type { CallObserver } from "./call-log.ts";
import type { Verdict } from "./judge.ts";
import { type Prepared, prepareProgram, type TypecheckMode } from "./prepare-program.ts";
import { inputDigest, type Program } from "./program.ts";
import { fail, type InsideLimits, type Outcome, runInside } from "./run-inside.ts";
import type { RunRecorder } from "./run-recorder.ts";
import { RunnerOutput } from "./runner-output.ts";
import { sealEnvelope } from "./seal.ts";
import { TimeLimit } from "./time-limit.ts";
import type { CheckedModules, TypeChecker } from "./type-check.ts";
import { UsedModules } from "./used-modules.ts";

export type ExecutionLimits = InsideLimits;

/** Every program's, so that what it prints does not depend on the machine. */
const TIME_ZONE = "UTC";

export interface ExecutionParts {
  sandboxes: SandboxSource;
  modules: CheckedModules;
  dispatcher: CallDispatcher;
  approver: Approver;
  redactor: Redactor;
  /** Without one, nothing is kept of a run. */
  recorder?: RunRecorder | undefined;
  /** Without one, types are not checked. */
  typeChecker?: TypeChecker | undefined;
  clock: { nowMs(): number };
  toolVersion: string;
}

export interface RunOptions extends CallObserver {
  limits: ExecutionLimits;
  typecheck: TypecheckMode;
  /** What a replay sees of the world; a live run gets randomness of its own. */
  environment?: ProgramEnvironment;
  /** Receives console text as it is printed, bounded by the limits. */
  onConsole?: (entry: ConsoleEntry) => void;
  /** Cancels the run: the sandbox is killed and calls in flight are aborted. */
  signal: AbortSignal;
}

export interface ExecutedProgram {
  envelope: Envelope;
  /** What `console.log` printed, cut at its cap. */
  consoleText: string;
  /** Where the value comes from: `globalThis.result`, a last console line that is JSON, or all console text. */
  resultFrom: ValueSource | undefined;
  /** What the type check found, where that does not stop a program. */
  typeWarning: string | undefined;
  /** Resolves when the run is kept, or with what stood in the way. Off the path of the answer; never rejects. */
  recorded: Promise<string | undefined>;
  /** Resolves when nothing of the run's sandbox is left. Off the path of the answer; never rejects. */
  cleared: Promise<void>;
}

/**
 * Runs one program: bundles it and checks its types while a sandbox starts, sends it in, answers its calls, and seals what
 * became of it. Every way to fail is in the envelope; nothing is thrown for what a program, a server or an engine does.
 */
export async function executeProgram(
  program: Program,
  parts: ExecutionParts,
  options: RunOptions,
): Promise<ExecutedProgram> {
  const { limits, signal } = options;
  const startedAt = parts.clock.nowMs();
  const runId = randomUUID();
  const traceId = randomBytes(16).toString("hex");
  const digest = inputDigest(program);
  const environment = options.environment ?? { seed: randomBytes(32).toString("hex"), time_zone: TIME_ZONE };
  const recording = parts.recorder?.begin({ runId, traceId, inputDigest: digest });
  const modules = new UsedModules(parts.modules);
  const timeLimit = new TimeLimit(limits.timeoutMs, parts.clock);
  const approvals = new RunApprovals(runId, forPeople(parts, timeLimit));
  const output = new RunnerOutput(
    limits,
    limits.maxOutputBytes + MAX_CLAIM_FAILURE_BYTES,
    options.onConsole ?? (() => {}),
    parts.redactor,
  );
  const preparing = prepareProgram(program, { ...parts, modules }, options.typecheck);
  const giveUp = new AbortController();
  const begin = () => acquire(parts.sandboxes, output, AbortSignal.any([signal, giveUp.signal]));
  // One that has to be started is, meanwhile; one that waits is not taken for a program that may not need it.
  let acquiring = parts.sandboxes.ready === true ? undefined : begin();
  acquiring?.catch(() => {});

  let outcome: Outcome;
  let prepared: Prepared | undefined;
  let sandbox: Sandbox | undefined;
  try {
    prepared = await unlessAborted(preparing, signal);
    if (prepared?.ok) acquiring ??= begin();
    const acquired = prepared?.ok && acquiring ? await unlessAborted(acquiring, signal) : undefined;
    if (acquired?.ok) sandbox = acquired.sandbox;
    if (prepared === undefined) outcome = fail("Cancelled", "the run was cancelled");
    else if (!prepared.ok) outcome = { verdict: prepared };
    else if (acquired === undefined) outcome = fail("Cancelled", "the run was cancelled");
    else if (!acquired.ok) outcome = fail("SandboxUnavailable", acquired.message);
    else {
      outcome = await runInside(acquired.sandbox, {
        dispatcher: parts.dispatcher,
        clock: parts.clock,
        bundle: prepared.bundle,
        data: program.data,
        environment,
        limits,
        timeLimit,
        approvals,
        observers: recording === undefined ? [options] : [recording, options],
        output,
        signal,
      });
    }
  } catch (error) {
    const type = error instanceof SandboxError ? "SandboxUnavailable" : "InternalError";
    outcome = fail(type, error instanceof Error ? error.message : String(error));
  }

  giveUp.abort();
  const { metrics, trace } = outcome;
  const { verdict, redactions } = redactVerdict(outcome.verdict, parts.redactor);
  const envelope = sealEnvelope(
    {
      runId,
      traceId,
      toolVersion: parts.toolVersion,
      inputDigest: digest,
      sandboxImage: sandbox?.image ?? null,
      durationMs: Math.round(parts.clock.nowMs() - startedAt),
      approvalState: approvals.state,
      metrics: metrics ?? { duration_ms: 0, tool_calls: 0, tool_result_bytes: 0 },
    },
    verdict,
    limits.maxOutputBytes,
  );
  const recorded = recording?.end({
    program,
    envelope,
    consoleText: output.consoleText,
    redactions: redactions + output.redactions,
    bundle: prepared?.ok ? prepared.bundle : undefined,
    modules: modules.used,
    environment,
    trace,
    limits,
    typecheck: options.typecheck,
  });
  return {
    envelope,
    consoleText: output.consoleText,
    resultFrom: verdict.ok ? verdict.from : undefined,
    typeWarning: prepared?.ok ? prepared.warning : undefined,
    recorded: recorded ?? Promise.resolve(undefined),
    cleared: clear(sandbox, acquiring),
  };
}

/** What came out of the sandbox, without secrets, before it is cut to size. */
function redactVerdict(verdict: Verdict, redactor: Redactor): { verdict: Verdict; redactions: number } {
  if (verdict.ok && verdict.from === "console" && typeof verdict.data === "string") {
    const { text, count } = redactCutText(verdict.data, redactor);
    return { verdict: { ...verdict, data: text }, redactions: count };
  }
  if (verdict.ok) {
    const { value, count } = redactor.redactValue(verdict.data);
    return { verdict: { ...verdict, data: value }, redactions: count };
  }
  const { text, count } = redactCutText(verdict.error.message, redactor);
  return { verdict: { ok: false, error: { ...verdict.error, message: text } }, redactions: count };
}

/** What was cut off a text may have been the rest of a secret: nothing is shown that could be its beginning. */
function redactCutText(text: string, redactor: Redactor): { text: string; count: number } {
  const stream = redactor.stream();
  const mark = text.endsWith(TRUNCATION_MARK) ? TRUNCATION_MARK : "";
  const shown = stream.push(text.slice(0, text.length - mark.length));
  return { text: mark === "" ? shown + stream.end() : shown + mark, count: stream.count };
}

/** While a person thinks, the program's time stands still; what they are shown holds no secrets. */
function forPeople({ approver, redactor }: ExecutionParts, timeLimit: TimeLimit): Approver {
  return {
    async ask(request, signal) {
      timeLimit.pause();
      try {
        const args = redactor.redactValue(request.arguments).value;
        return await approver.ask({ ...request, arguments: args }, signal);
      } finally {
        timeLimit.resume();
      }
    },
  };
}

type Acquired = { ok: true; sandbox: Sandbox } | { ok: false; message: string };

async function acquire(source: SandboxSource, output: RunnerOutput, signal: AbortSignal): Promise<Acquired> {
  try {
    return { ok: true, sandbox: await source.acquire(output, signal) };
  } catch (error) {
    if (error instanceof SandboxError) return { ok: false, message: error.message };
    throw error;
  }
}

/** A sandbox that was asked for and not used is cleared as well, once it is there. */
async function clear(sandbox: Sandbox | undefined, acquiring: Promise<Acquired> | undefined): Promise<void> {
  if (sandbox !== undefined) return sandbox.dispose();
  const late = await acquiring?.catch(() => undefined);
  if (late?.ok) await late.sandbox.dispose();
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abort = () => resolve(undefined);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
