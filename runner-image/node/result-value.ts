import { numbersComeBack, parseForeignJson, whyTooLarge, writeJson } from "../../base/json.ts";
import type { ValueSource } from "../../protocol/claim.ts";
import { buildFailure, type Failure } from "../../protocol/failure.ts";
import { ENVELOPE_OVERHEAD_BYTES, MAX_NESTING_DEPTH, MAX_VALUES } from "../../protocol/limits.ts";
import { cutToJsonBytes } from "../../protocol/text-cap.ts";
import { carriedByJson, UnsendableError } from "./json-value.ts";

// The program shares this realm and may replace globals, so keep those that the claim depends on.
const { stringify } = JSON;

export type DataJson = { ok: true; json: string; from: ValueSource } | { ok: false; error: Failure };

const RETURN_LESS =
  "return less: a count, a summary, the fields you need or the first items; or hand all of it over as a file: " +
  "emit(JSON.stringify(value), { name: 'result.json' })";

/** Serialises the value that a program set as `globalThis.result`. @param max set if it may be larger than other output. */
export function serializeResult(
  value: unknown,
  maxOutputBytes: number,
  max = { bytes: maxOutputBytes, values: MAX_VALUES },
): DataJson {
  const json = toJson(value);
  if (!json.ok) return { ok: false, error: buildFailure("ResultNotSerializable", json.problem) };
  const bytes = Buffer.byteLength(json.text);
  const room = max.bytes - ENVELOPE_OVERHEAD_BYTES;
  if (bytes > room) {
    const message = `the result is ${bytes} bytes of JSON and at most ${room} fit; ${RETURN_LESS}`;
    return { ok: false, error: buildFailure("OutputLimit", message) };
  }
  // A result that goes to a file may be as broad as it is large.
  const maxMembers = max.values > MAX_VALUES ? max.values : undefined;
  const why = whyTooLarge(json.text, { maxValues: max.values, maxMembers });
  if (why !== undefined) {
    const message = `the result ${why}; ${RETURN_LESS}`;
    return { ok: false, error: buildFailure("OutputLimit", message) };
  }
  return { ok: true, json: json.text, from: "result" };
}

/**
 * The value of a program without a result: its last console line if that is JSON, else its console text. A line whose numbers would
 * be written differently, such as a version `3.10`, is text.
 */
export function serializeConsole(
  text: string,
  lastLine: string | undefined,
  maxOutputBytes: number,
): DataJson {
  const room = maxOutputBytes - ENVELOPE_OVERHEAD_BYTES;
  if (lastLine !== undefined && Buffer.byteLength(lastLine) <= room) {
    try {
      const limits = { maxBytes: lastLine.length, maxDepth: MAX_NESTING_DEPTH };
      const json = writeJson(parseForeignJson(lastLine, limits));
      if (numbersComeBack(lastLine)) return { ok: true, json, from: "line" };
    } catch {
      // It is plain text.
    }
  }
  return { ok: true, json: stringify(cutToJsonBytes(text.replace(/\n$/, ""), room)), from: "console" };
}

function toJson(value: unknown): { ok: true; text: string } | { ok: false; problem: string } {
  try {
    const text: string | undefined = writeJson(carriedByJson(value, "result"));
    if (text === undefined)
      return { ok: false, problem: "result has a toJSON that gives nothing, which JSON cannot carry" };
    return { ok: true, text };
  } catch (error) {
    const isKnown = error instanceof UnsendableError;
    return { ok: false, problem: isKnown ? error.message : `result cannot be read: ${messageOf(error)}` };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
