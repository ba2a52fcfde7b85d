import type { ArchivedRun } from "../../archive/archived-run.ts";
import type { ArchivedOutcome, CallRecord } from "../../archive/run-record.ts";
import { summarizeRun } from "../../archive/run-summary.ts";
import { estimateTokens } from "../../base/quantities.ts";
import { parseNamespacedName } from "../../protocol/tool-names.ts";
import { type FailingPlace, findFailingPlaces } from "./failing-places.ts";
import { layOutCalls, type Timeline } from "./timeline.ts";

/** The facts with which every report of one run begins. */
export interface RunOverview {
  /** `ok`, or the type of the failure. */
  status: string;
  /** Empty for a run that succeeded. */
  errorMessage: string;
  /** The first line of the program that has any content. */
  title: string;
  /** The time from the start of the run to its answer. */
  durationMs: number;
  /** The part of `durationMs` in which the program ran. */
  programMs: number;
  failedCalls: number;
  /** Bytes that tools returned to the program. */
  resultBytes: number;
  /** Bytes of console text and result, which a model was shown. */
  returnedBytes: number;
  /** Bytes that tools returned and no model was shown. */
  keptBytes: number;
  /** `keptBytes` as an estimated number of tokens. */
  keptTokens: number;
  timeline: Timeline;
  failingPlaces: FailingPlace[];
  /** The lines of the program, without line ends. */
  lines: string[];
}

/** Sums up a run. No value of a call is read for it. */
export function overviewOf(run: ArchivedRun): RunOverview {
  const { result, duration_ms } = run.envelope;
  const summary = summarizeRun(run.record, run);
  const errorMessage = result.ok ? "" : result.error.message;
  const lines = splitLines(run.code);
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
    failingPlaces: findFailingPlaces(errorMessage, { fileName: run.record.file_name, lines }),
    lines,
  };
}

/** Splits a program into lines. A line feed at the very end begins no further line. */
export function splitLines(code: string): string[] {
  const lines = code.split(/\r\n|[\n\r\u2028\u2029]/);
  return lines.length > 1 && lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** `server.tool` for a namespaced name, and any other text unchanged. */
export function shortToolName(tool: string): string {
  const parsed = parseNamespacedName(tool);
  return parsed === undefined ? tool : `${parsed.module}.${parsed.tool}`;
}

/** The error of a call; `undefined` for a call that succeeded. @throws ArchiveError */
export async function errorOf(
  run: ArchivedRun,
  call: CallRecord,
): Promise<Extract<ArchivedOutcome, { ok: false }>["error"] | undefined> {
  if (call.ok) return undefined;
  const outcome = await run.outcomeOf(call);
  return outcome.ok ? undefined : outcome.error;
}

/** How a call was decided and by whom, and why its values were not archived. Empty for a call that was simply allowed. */
export function decisionOf({ decision, approver, unkept }: CallRecord): string {
  const by = approver === undefined ? "" : ` by ${approver}`;
  return [
    ...(decision === "allowed" ? [] : [`${decision.replaceAll("-", " ")}${by}`]),
    ...(unkept === undefined ? [] : [`not archived: ${unkept}`]),
  ].join("; ");
}
