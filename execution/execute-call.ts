import { randomBytes, randomUUID } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error-message.ts";
import { withinOwnBoundary } from "../base/fault-boundary.ts";
import { jsonLine } from "../base/json/json-line.ts";
import { type Approver, RunApprovals } from "../broker/approvals/approvals.ts";
import type { CallDispatcher, CallOutcome } from "../broker/dispatcher.ts";
import { NOT_ASKED } from "../broker/elicitation/inquiry.ts";
import type { Envelope, Metrics } from "../protocol/envelope.ts";
import { buildFailure } from "../protocol/failure.ts";
import type { Redactor } from "../secrets/redaction.ts";
import { CallLog } from "./call-log.ts";
import type { Verdict } from "./judge.ts";
import { fail } from "./outcome.ts";
import { maxKeptBytes } from "./output/runner-output.ts";
import { inputDigest, type Program } from "./program.ts";
import type { RunRecorder } from "./record/run-recorder.ts";
import type { InsideLimits } from "./run-inside.ts";
import { sealVerdict } from "./seal-verdict.ts";

/** One call, by a tool's namespaced name. */
export interface DirectCall {
  tool: string;
  arguments: unknown;
}

export interface DirectCallParts {
  dispatcher: CallDispatcher;
  approver: Approver;
  redactor: Redactor;
  /** Without one, nothing of the call is kept. */
  recorder?: RunRecorder | undefined;
  clock: Pick<Clock, "monotonicMs">;
  toolVersion: string;
  /** The names of all server modules. */
  modules: readonly string[];
}

export interface DirectCallOptions {
  limits: InsideLimits;
  /** Cancels the call. */
  signal: AbortSignal;
}

export interface ExecutedCall {
  envelope: Envelope;
  /** What the tool answered, without secrets, where the envelope may have only a bounded form of it. */
  verdict: Verdict;
  /** What became of the call; `undefined` for one that was cancelled, or that a fault of the host has ended. */
  decision: CallOutcome["decision"] | undefined;
  /** Resolves when the call is recorded, or with the reason why it is not. Never rejects. */
  recorded: Promise<string | undefined>;
}

/** The place of the call in its program, as the runner would name it in a failure. */
const PLACE = "\n    at call.ts:1:27";

/**
 * The program that a call stands for. It has the same digest, and comes to the same value or failure, whether it is run in a
 * sandbox or its one call is made directly.
 */
function programOfCall({ tool, arguments: data }: DirectCall): Program {
  const code = `globalThis.result = await callTool(${JSON.stringify(tool)}, data);\n`;
  return { code, data, language: "typescript", fileName: "call.ts" };
}

/**
 * Makes one call without a sandbox: through the broker's checks and a person's approval, redacted and recorded as the run of
 * a program of one line. Failures of the call are in the envelope and are not thrown.
 */
export function executeCall(
  call: DirectCall,
  parts: DirectCallParts,
  options: DirectCallOptions,
): Promise<ExecutedCall> {
  return withinOwnBoundary((faulted) => execute(call, parts, options, faulted));
}

async function execute(
  call: DirectCall,
  parts: DirectCallParts,
  { limits, signal: cancelled }: DirectCallOptions,
  faulted: AbortSignal,
): Promise<ExecutedCall> {
  const { clock, redactor, dispatcher } = parts;
  const signal = AbortSignal.any([cancelled, faulted]);
  const startedAt = clock.monotonicMs();
  const runId = randomUUID();
  const traceId = randomBytes(16).toString("hex");
  const program = programOfCall(call);
  const digest = inputDigest(program);
  const recording = parts.recorder?.begin({ runId, traceId, inputDigest: digest });
  const approvals = new RunApprovals(runId, withoutSecrets(parts), recording);
  const log = new CallLog(recording === undefined ? [] : [recording], clock);
  let outcome: CallOutcome | undefined;
  let fault: unknown;
  try {
    outcome = await log.watch(call, signal, (seq) =>
      dispatcher.dispatch(call, { approvals, signal, seq, events: recording }),
    );
  } catch (error) {
    fault = error;
  }
  await log.end();
  const durationMs = Math.round(clock.monotonicMs() - startedAt);
  const metrics: Metrics = { duration_ms: durationMs, tool_calls: 1, tool_result_bytes: outcome?.bytes ?? 0 };
  if (faulted.aborted) fault = faulted.reason;
  const verdict =
    fault !== undefined
      ? fail("InternalError", `the host could not go on with this call: ${messageOf(fault)}`).verdict
      : verdictOf(cancelled.aborted ? undefined : outcome);
  const sealed = sealVerdict(
    {
      runId,
      traceId,
      toolVersion: parts.toolVersion,
      inputDigest: digest,
      sandboxImage: null,
      durationMs,
      approvalState: approvals.state,
      metrics,
    },
    verdict,
    redactor,
    limits.maxOutputBytes,
    maxKeptBytes(limits),
  );
  const { envelope } = sealed;
  const isBounded = sealed.verdict.ok && envelope.result.ok && envelope.result.data !== sealed.verdict.data;
  const recorded = recording?.end({
    program,
    envelope,
    consoleText: "",
    stderrText: "",
    emitted: [],
    wholeResultJson: isBounded && sealed.verdict.ok ? jsonLine(sealed.verdict.data) : undefined,
    redactions: sealed.redactions,
    bundle: undefined,
    modules: new Map(),
    knownModules: parts.modules,
    environment: { seed: randomBytes(32).toString("hex"), time_zone: "UTC" },
    trace: undefined,
    limits,
    typecheck: "off",
  });
  return {
    envelope,
    verdict: envelope.result.ok ? sealed.verdict : { ok: false, error: envelope.result.error },
    decision: fault !== undefined || cancelled.aborted ? undefined : outcome?.decision,
    recorded: recorded ?? Promise.resolve(undefined),
  };
}

/** How the program of one call ends with this outcome. */
function verdictOf(outcome: CallOutcome | undefined): Verdict {
  if (outcome === undefined) return fail("Cancelled", "the run was cancelled").verdict;
  if (outcome.ok) return { ok: true, data: outcome.data, from: "result" };
  const { type, message, retryable } = outcome.error;
  return { ok: false, error: buildFailure(type, message + PLACE, retryable) };
}

/** The message of a failed call without its place in the program that it stands for. */
export function messageOfCall({ message }: { message: string }): string {
  return message.endsWith(PLACE) ? message.slice(0, -PLACE.length) : message;
}

function withoutSecrets({ approver, redactor }: DirectCallParts): Approver {
  return {
    ask: (request, signal) =>
      approver.ask({ ...request, arguments: redactor.redactValue(request.arguments).value }, signal),
    // The broker has taken the secrets out of it.
    inquire: async (inquiry, signal) => approver.inquire?.(inquiry, signal) ?? NOT_ASKED,
  };
}
