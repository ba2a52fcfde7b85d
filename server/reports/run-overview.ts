import type { ArchivedRun } from "../../archive/archived-run.ts";
import type { ArchivedOutcome, CallRecord } from "../../archive/run-record.ts";
import { summarizeRun } from "../../archive/run-summary.ts";
import { writeJson } from "../../base/json.ts";
import { estimateTokens, formatBytes } from "../../base/quantities.ts";
import { describeEmitted } from "../../execution/output/emitted-blocks.ts";
import type { EmittedBlock } from "../../protocol/emitted.ts";
import { parseNamespacedName } from "../../protocol/tool-names.ts";

/** The facts at the top of every report of one run. */
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

/** A place in the program that an error message names. */
interface FailingPlace {
  /** Line and column count from 1. */
  line: number;
  column: number;
  /** `failed`: the place of the error. `caller`: a place that called it. */
  role: "failed" | "caller";
}

interface FailedProgram {
  fileName: string;
  lines: readonly string[];
}

type Place = Omit<FailingPlace, "role">;

/**
 * The places that the message of a failure names, at most one for each line: stack frames, innermost first, or mistakes in the
 * program (`FILE:L:C: what`). Frames are those of JavaScript (`    at [name (]FILE:L:C`), or of Python's tracebacks
 * (`  File "FILE", line L`), whose order is the other way round.
 */
export function findFailingPlaces(message: string, program: FailedProgram): FailingPlace[] {
  const texts = message.split("\n");
  const mistakes: Place[] = [];
  const frames: Place[] = [];
  const tracebacks: Place[] = [];
  for (const [index, text] of texts.entries()) {
    if (text.startsWith("    at ")) frames.push(...placeAtEnd(text, program.fileName));
    else if (TRACEBACK_FRAME.test(text)) tracebacks.push(...placeInTraceback(texts, index, program));
    else mistakes.push(...placeAtStart(text, program.fileName));
  }
  const inwards = [...frames, ...tracebacks.reverse()];
  const places = new Map<number, FailingPlace>();
  const note = (place: Place, role: FailingPlace["role"]): void => {
    if (!places.has(place.line)) places.set(place.line, { ...place, role });
  };
  for (const place of mistakes) note(place, "failed");
  for (const [index, place] of inwards.entries()) note(place, index > 0 ? "caller" : "failed");
  return [...places.values()];
}

function placeAtEnd(frame: string, fileName: string): Place[] {
  const [, file = "", line, column] = /^(.*):(\d{1,7}):(\d{1,7})\)?$/.exec(frame) ?? [];
  const named = file.endsWith(` ${fileName}`) || file.endsWith(`(${fileName}`);
  return named ? [{ line: Number(line), column: Number(column) }] : [];
}

function placeAtStart(text: string, fileName: string): Place[] {
  if (!text.startsWith(`${fileName}:`)) return [];
  const [, line, column] = /^(\d{1,7}):(\d{1,7}):/.exec(text.slice(fileName.length + 1)) ?? [];
  return line === undefined ? [] : [{ line: Number(line), column: Number(column) }];
}

/** In a group of exceptions, after bars. */
const TRACEBACK_FRAME = /^[ |]* {2}File "(.*)", line (\d{1,7})(?:, in .*)?$/;
const CARETS = /^([ |]*)([~^]+)[ ~^]*$/;

/** A frame is followed by its line, without indentation, and by carets where less than the whole line is meant. */
function placeInTraceback(
  texts: readonly string[],
  index: number,
  { fileName, lines }: FailedProgram,
): Place[] {
  const frame = texts[index] ?? "";
  const [, file, line] = TRACEBACK_FRAME.exec(frame) ?? [];
  if (file !== fileName) return [];
  const [, before = ""] = CARETS.exec(texts[index + 2] ?? "") ?? [];
  const margin = frame.indexOf("File ") + "  ".length;
  const [indentation = ""] = /^\s*/.exec(lines[Number(line) - 1] ?? "") ?? [];
  return [{ line: Number(line), column: indentation.length + Math.max(0, before.length - margin) + 1 }];
}

/** The times of calls, drawn so that calls which overlap in time are in different lanes. */
export interface Timeline {
  /** The end of the time axis, which begins at 0. */
  endMs: number;
  /** The number of lanes: the most calls that ran at the same time. */
  lanes: number;
  /** One bar for each call, in the given order. */
  bars: readonly TimelineBar[];
}

/** Where the bar of one call is. */
export interface TimelineBar {
  lane: number;
  /** Start and width as fractions of the time axis, from 0 to 1. */
  start: number;
  length: number;
}

interface Timed {
  started_ms: number;
  duration_ms: number;
}

/** The most lanes. Further overlapping calls share the last one, because finding a free lane takes time for each call. */
const MAX_LANES = 500;

/** Assigns the bars of calls to lanes. @param runMs how long the program took; the axis is at least as long. */
export function layOutCalls(calls: readonly Timed[], runMs: number): Timeline {
  const endMs = calls.reduce(
    (end, call) => Math.max(end, call.started_ms + call.duration_ms),
    Math.max(runMs, 1),
  );
  const order = calls
    .map((call, index) => ({ ...call, index }))
    .sort((a, b) => a.started_ms - b.started_ms || a.index - b.index);
  const bars: TimelineBar[] = calls.map(() => ({ lane: 0, start: 0, length: 0 }));
  const freeAt: number[] = [];
  for (const { index, started_ms, duration_ms } of order) {
    const free = freeAt.findIndex((end) => end <= started_ms);
    const lane = free < 0 ? Math.min(freeAt.length, MAX_LANES - 1) : free;
    freeAt[lane] = started_ms + duration_ms;
    bars[index] = { lane, start: started_ms / endMs, length: duration_ms / endMs };
  }
  return { endMs, lanes: freeAt.length, bars };
}

/** Describes an emitted block for people: `chart.png, image/png, 34 KB`. It contains text from the program. */
export function emittedLine(block: EmittedBlock): string {
  const { name, what, bytes } = describeEmitted(block);
  const size = block.type === "resource_link" ? [] : [formatBytes(bytes)];
  return [...(name === undefined ? [] : [name]), what, ...size].join(", ");
}

/** Text of a run as a report shows it: complete, or only its beginning. */
export interface ShownText {
  text: string;
  /** The size of the complete text, in UTF-8. */
  bytes: number;
  /** Says in words what is missing; empty when nothing is. */
  cut: string;
}

/** The text, cut if it has more characters than the limit. No character is cut in half. */
export function showText(text: string, maxChars: number): ShownText {
  const bytes = Buffer.byteLength(text);
  if (text.length <= maxChars) return { text, bytes, cut: "" };
  // The cut must not split a surrogate pair.
  const end = /[\ud800-\udbff]/.test(text[maxChars - 1] ?? "") ? maxChars - 1 : maxChars;
  const shown = text.slice(0, end);
  return {
    text: shown,
    bytes,
    cut: `the first ${formatBytes(Buffer.byteLength(shown))} of ${formatBytes(bytes)}`,
  };
}

/** A value as indented JSON. `bytes` is the size of its JSON without indentation. */
export function showJson(value: unknown, maxChars: number): ShownText {
  const json = writeJson(value) ?? "null";
  const bytes = Buffer.byteLength(json);
  // A value that is much too long is not indented, which would take several times its memory.
  const shown =
    json.length > 4 * maxChars ? showText(json, maxChars) : showText(writeJson(value, 2) ?? "null", maxChars);
  return { ...shown, bytes, cut: shown.cut === "" ? "" : `the beginning of ${formatBytes(bytes)}` };
}
