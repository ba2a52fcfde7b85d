import { jsonLine } from "../../base/json.ts";
import { digestOf } from "../../protocol/canonical-json.ts";
import { headAndTail, splitEnds } from "./head-and-tail.ts";

/** How people read what an archived text or an envelope leaves out. It names no run, so that replays come to the same. */
const WHERE = "ptc runs show RUN --output prints all";

/** The texts of a run that a model or a person reads, whole. */
export interface OutputParts {
  consoleText: string;
  /** The value as JSON, where it is not in the console text. */
  resultJson: string | undefined;
  stderrText: string;
}

/** One text that holds all that a program gave out, in the order of the reply to a model, and where its parts begin. */
export function joinOutput({ consoleText, resultJson, stderrText }: OutputParts): {
  text: string;
  resultAt: number;
  stderrAt: number;
} {
  const lines = consoleText.trim() === "" ? [] : [withoutLastLineFeed(consoleText)];
  const resultAt = lengthOf(lines);
  if (resultJson !== undefined) lines.push(resultJson);
  const stderrAt = lengthOf(lines);
  if (stderrText.trim() !== "") lines.push(markStderr(stderrText));
  return { text: lines.join("\n"), resultAt, stderrAt };
}

/** Puts `[stderr]` in front of each line. */
export function markStderr(text: string): string {
  return withoutLastLineFeed(text).replaceAll(/^/gm, "[stderr] ");
}

export function withoutLastLineFeed(text: string): string {
  return text.endsWith("\n") ? text.slice(0, -1) : text;
}

/** Console text as records and envelopes have it: what is too long is bounded, and says by digest what it was. */
export function boundConsole(text: string, maxBytes: number): string {
  return boundWith(text, maxBytes, () => digestOf(text));
}

/** Console text whose JSON takes at most `maxJsonBytes`, bounded like `boundConsole` does. */
export function boundConsoleJson(text: string, maxJsonBytes: number): string {
  const digest = digestOf(text);
  for (let most = maxJsonBytes; ; most = Math.floor((most * 9) / 10)) {
    const bounded = boundWith(text, most, () => digest);
    if (jsonBytes(bounded) <= maxJsonBytes || most < 1) return bounded;
  }
}

function boundWith(text: string, maxBytes: number, digest: () => string): string {
  return headAndTail(
    text,
    maxBytes,
    ({ from, to, of }) => `[${to - from} of ${of} characters left out; ${WHERE}; ${digest()}]`,
  );
}

/** Stands in an envelope for a value that does not fit into it. JSON is not cut: its ends are texts. */
export interface BoundedValue {
  truncated: true;
  /** The size of the whole value as JSON. */
  bytes: number;
  /** Of the whole value, so that equal ones can be told from others. */
  digest: string;
  head: string;
  tail: string;
  note: string;
}

/** The beginning and the end of a value's JSON; of a text, of that text itself. */
export interface BoundedJson {
  truncated: true;
  /** The size of the whole value as JSON. */
  bytes: number;
  head: string;
  tail: string;
}

/**
 * What stands for JSON that is too long to be shown: an object of at most `maxJsonBytes`, which is JSON itself.
 * `shownChars` says how much of the JSON its head covers.
 */
export function boundJson(json: string, maxJsonBytes: number): { ends: BoundedJson; shownChars: number } {
  const value: unknown = json.startsWith('"') ? JSON.parse(json) : undefined;
  const text = typeof value === "string" ? value : json;
  const bytes = Buffer.byteLength(json);
  for (let most = maxJsonBytes; ; most = Math.floor((most * 9) / 10)) {
    const ends: BoundedJson = { truncated: true, bytes, ...splitEnds(text, most) };
    if (jsonBytes(ends) > maxJsonBytes && most >= 1) continue;
    return { ends, shownChars: text === json ? ends.head.length : jsonLine(ends.head).length - 1 };
  }
}

/** @param maxJsonBytes bounds the JSON of what is returned. */
export function boundValue(value: unknown, maxJsonBytes: number): BoundedValue {
  const json = jsonLine(value);
  const bytes = Buffer.byteLength(json);
  const digest = digestOf(value);
  const note = `the value is too large for the envelope; ${WHERE} of it`;
  for (let most = maxJsonBytes; ; most = Math.floor((most * 9) / 10)) {
    const bounded: BoundedValue = { truncated: true, bytes, digest, ...splitEnds(json, most), note };
    if (jsonBytes(bounded) <= maxJsonBytes || most < 1) return bounded;
  }
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0);
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(jsonLine(value));
}
