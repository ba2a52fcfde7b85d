import { writeJson } from "../base/json.ts";
import type { Envelope } from "../protocol/envelope.ts";
import type { CallRecord, RunRecord } from "./run-record.ts";

const MAX_TITLE_CHARS = 120;

/**
 * The columns for finding and counting runs. All are derived from the record and what it names, and readers check that. A
 * change to the derivation needs a migration that updates the columns of older runs.
 */
export interface RunSummary {
  run_id: string;
  input_digest: string;
  started_at: number;
  source: string;
  principal: string;
  /** The client's name for its conversation. */
  client_session: string | null;
  /** The account, the machine and the client. Missing in runs of earlier versions. */
  user: string | null;
  host: string | null;
  client: string | null;
  /** `ok`, or the type of the failure. */
  status: string;
  /** Excludes the time for which the run waited for a person. */
  duration_ms: number;
  calls: number;
  failed_calls: number;
  /** Bytes of the tools' answers. */
  result_bytes: number;
  /** Bytes of console text and result, which a model saw instead. */
  returned_bytes: number;
  redactions: number;
  file_name: string;
  /** The first line of the program that has any content. */
  title: string;
}

export interface ToolSummary {
  tool: string;
  server: string;
  calls: number;
  failed_calls: number;
  /** Excludes the time for which calls waited for a person. */
  duration_ms: number;
  result_bytes: number;
}

export function summarizeRun(
  record: RunRecord,
  contents: { code: string; consoleText: string; envelope: Envelope },
): RunSummary {
  const { result, duration_ms } = contents.envelope;
  return {
    run_id: record.run_id,
    input_digest: record.input_digest,
    started_at: record.started_at,
    source: record.source,
    principal: asStored(record.principal),
    client_session: storedOrNull(record.client_session),
    user: storedOrNull(record.actor?.user),
    host: storedOrNull(record.actor?.host),
    client: storedOrNull(record.client?.name),
    status: result.ok ? "ok" : result.error.type,
    duration_ms: Math.max(0, duration_ms - waitedMs(record.calls)),
    calls: record.calls.length,
    failed_calls: record.calls.filter((call) => !call.ok).length,
    result_bytes: sum(record.calls, (call) => call.result_bytes),
    returned_bytes: returnedBytes(contents.consoleText, contents.envelope),
    redactions: record.redactions,
    file_name: asStored(record.file_name),
    title: asStored(titleOf(contents.code)),
  };
}

/** How long calls waited for a person, in whole milliseconds. Calls that wait at the same time count once, from when they began. */
function waitedMs(calls: readonly Pick<CallRecord, "started_ms" | "waited_ms">[]): number {
  const waits = calls
    .flatMap(({ started_ms, waited_ms = 0 }) => (waited_ms > 0 ? [[started_ms, started_ms + waited_ms]] : []))
    .sort(([a = 0], [b = 0]) => a - b);
  let [total, end] = [0, 0];
  for (const [from = 0, to = 0] of waits) {
    total += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return Math.round(total);
}

/** One entry for each tool, in the order of first calls. Names are in the form in which a database stores them. */
export function summarizeTools(calls: readonly CallRecord[]): ToolSummary[] {
  const summaries = new Map<string, ToolSummary>();
  for (const call of calls) {
    const { tool: called, server: configured, ok, result_bytes } = call;
    const tool = asStored(called);
    const server = asStored(configured);
    const key = JSON.stringify([tool, server]);
    let summary = summaries.get(key);
    if (summary === undefined) {
      summary = { tool, server, calls: 0, failed_calls: 0, duration_ms: 0, result_bytes: 0 };
      summaries.set(key, summary);
    }
    summary.calls += 1;
    summary.failed_calls += ok ? 0 : 1;
    summary.duration_ms += answeringMs(call);
    summary.result_bytes += result_bytes;
  }
  return [...summaries.values()];
}

/** How long a server took to answer a call: without the time of a person, and without its own start. */
export function answeringMs({
  duration_ms,
  waited_ms = 0,
  connect_ms = 0,
}: Pick<CallRecord, "duration_ms" | "waited_ms" | "connect_ms">): number {
  return Math.max(0, duration_ms - waited_ms - connect_ms);
}

/** The number of bytes of a run that a model has to read. */
export function returnedBytes(consoleText: string, { result }: Envelope): number {
  const consoleBytes = Buffer.byteLength(consoleText);
  if (!result.ok) return consoleBytes + Buffer.byteLength(result.error.message);
  // A program without a result returns its console text, which must not be counted twice.
  if (typeof result.data === "string" && result.data.trim() === consoleText.trim()) return consoleBytes;
  return consoleBytes + Buffer.byteLength(writeJson(result.data) ?? "");
}

/** A text in the form that survives UTF-8. Lone surrogates, which programs and cuts produce, become U+FFFD. */
function asStored(text: string): string {
  return text.replaceAll(/\p{Cs}/gu, "\ufffd");
}

function storedOrNull(text: string | undefined): string | null {
  return text === undefined ? null : asStored(text);
}

function titleOf(code: string): string {
  const lines = code.slice(0, 10_000).split("\n");
  const said = lines.map((line) => line.trim()).find((line) => line !== "" && !line.startsWith("import "));
  return (said ?? "").slice(0, MAX_TITLE_CHARS);
}

function sum<T>(items: readonly T[], measure: (item: T) => number): number {
  return items.reduce((total, item) => total + measure(item), 0);
}
