import type { ArchivedRun } from "../../archive/read-run.ts";
import type { ArchivedOutcome, CallRecord } from "../../archive/run-record.ts";
import { summarizeRun } from "../../archive/run-summary.ts";
import { parseNamespacedName } from "../../protocol/tool-name.ts";
import { type FailingPlace, findFailingPlaces } from "./failing-places.ts";
import { estimateTokens } from "./quantities.ts";
import { layOutCalls, type Timeline } from "./timeline.ts";

/** What every report of one run says first. */
export interface RunOverview {
  /** `ok`, or the type of the failure. */
  status: string;
  /** Empty where it did not fail. */
  errorMessage: string;
  /** The first line of the program that says something. */
  title: string;
  /** Until the answer was out. */
  durationMs: number;
  /** Of that, what the program itself took. */
  programMs: number;
  failedCalls: number;
  /** Bytes that tools answered. */
  resultBytes: number;
  /** Bytes of console text and result. */
  returnedBytes: number;
  /** What tools answered and no model was shown. */
  keptBytes: number;
  /** An estimate. */
  keptTokens: number;
  timeline: Timeline;
  failingPlaces: FailingPlace[];
  /** The program, each line without its end. */
  lines: string[];
}

export function overviewOf(run: ArchivedRun): RunOverview {
  const { result, duration_ms } = run.envelope;
  const summary = summarizeRun(run.record, run);
  const errorMessage = result.ok ? "" : result.error.message;
  const keptBytes = Math.max(0, summary.result_bytes - summary.returned_bytes);
  return {
    status: summary.status,
    errorMessage,
    title: summary.title,
    durationMs: duration_ms,
    programMs: result.metrics.duration_ms,
    failedCalls: summary.failed_calls,
    resultBytes: summary.result_bytes,
    returnedBytes: summary.returned_bytes,
    keptBytes,
    keptTokens: estimateTokens(keptBytes),
    timeline: layOutCalls(run.record.calls, result.metrics.duration_ms),
    failingPlaces: findFailingPlaces(errorMessage, run.record.file_name),
    lines: splitLines(run.code),
  };
}

/** What ends the last line does not begin another. */
function splitLines(code: string): string[] {
  const lines = code.split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.length > 1 && lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** `server.tool`; for what is no tool's name, that. */
export function shortToolName(tool: string): string {
  const parsed = parseNamespacedName(tool);
  return parsed === undefined ? tool : `${parsed.module}.${parsed.tool}`;
}

/** Why a call failed; `undefined` for one that did not. */
export function errorOf(
  run: ArchivedRun,
  call: CallRecord,
): Extract<ArchivedOutcome, { ok: false }>["error"] | undefined {
  if (call.ok) return undefined;
  const outcome = run.outcomeOf(call);
  return outcome.ok ? undefined : outcome.error;
}

/** Who let a call through or did not, where that is worth saying. */
export function decisionOf({ decision, approver }: CallRecord): string {
  if (decision === "allowed") return "";
  const said = decision.replaceAll("-", " ");
  return approver === undefined ? said : `${said} by ${approver}`;
}
