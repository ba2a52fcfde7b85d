import { inTurns, isLight, writeSteps } from "../../base/in-turns.ts";
import { jsonLine } from "../../base/json.ts";
import { canonicalJson, canonicalJsonInTurns, digestOf, textDigest } from "../../protocol/canonical-json.ts";
import { headAndTail, splitEnds } from "./head-and-tail.ts";

/** How people read what an archived text or an envelope leaves out. It names no run, so that replays give the same text. */
const WHERE = "ptc runs show RUN --output prints all";

/** The whole texts of a run that a model or a person reads. */
export interface OutputParts {
  consoleText: string;
  /** The value as JSON, if the console text does not hold it. */
  resultJson: string | undefined;
  stderrText: string;
}

/** The whole output of a program as one text, in the order of the reply to a model, and the positions where its parts begin. */
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

/** Console text for records and envelopes. A text that is too long is bounded and states the digest of the whole. */
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

/** Replaces a value that does not fit into an envelope. JSON cannot be cut, so the two ends are texts. */
export interface BoundedValue {
  truncated: true;
  /** The size of the whole value as JSON. */
  bytes: number;
  /** The digest of the whole value, so that values can be compared. */
  digest: string;
  head: string;
  tail: string;
  note: string;
}

/** The beginning and the end of a value's JSON, or of the text itself if the value is a text. */
export interface BoundedJson {
  truncated: true;
  /** The size of the whole value as JSON. */
  bytes: number;
  head: string;
  tail: string;
}

/**
 * Bounds JSON that is too long to be shown. The result is an object whose JSON has at most `maxJsonBytes`.
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

/** A large value, as it is written. */
export interface WrittenValue {
  json: string;
  /** As RFC 8785 says. */
  canonical: string;
}

/** Writes a large value with turns of the event loop in between; `undefined` for a small one, which is written when that is needed. */
export async function writeLarge(value: unknown): Promise<WrittenValue | undefined> {
  if (isLight(value)) return undefined;
  return { json: await inTurns(writeSteps(value, jsonLine)), canonical: await canonicalJsonInTurns(value) };
}

/** @param maxJsonBytes bounds the JSON of what is returned. */
export function boundValue(
  value: unknown,
  maxJsonBytes: number,
  { json = jsonLine(value), canonical = canonicalJson(value) }: Partial<WrittenValue> = {},
): BoundedValue {
  const bytes = Buffer.byteLength(json);
  const digest = textDigest(canonical);
  const note = `the value is too large for the envelope; ${WHERE} of it`;
  for (let most = maxJsonBytes; ; most = Math.floor((most * 9) / 10)) {
    const bounded: BoundedValue = { truncated: true, bytes, digest, ...splitEnds(json, most), note };
    if (jsonBytes(bounded) <= maxJsonBytes || most < 1) return bounded;
  }
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0);
}

export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(jsonLine(value));
}
