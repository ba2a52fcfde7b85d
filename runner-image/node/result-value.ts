import { countJsonValues, jsonDepth, numbersComeBack, parseForeignJson, writeJson } from "../../base/json.ts";
import type { ValueSource } from "../../protocol/claim.ts";
import { buildFailure, type Failure } from "../../protocol/failure.ts";
import { ENVELOPE_OVERHEAD_BYTES, MAX_NESTING_DEPTH, MAX_VALUES } from "../../protocol/limits.ts";
import { cutToJsonBytes } from "../../protocol/text-cap.ts";

// The program shares this realm and may replace globals, so keep those that the claim depends on.
const { stringify, rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown };

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
  if (bytes > 2 * max.values && countJsonValues(json.text) > max.values) {
    const message = `the result holds more than ${max.values} values; ${RETURN_LESS}`;
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
    const text: string | undefined = stringify(value, carry);
    if (text === undefined)
      return { ok: false, problem: `result is a ${typeof value}, which JSON cannot carry` };
    const depth = jsonDepth(text);
    if (depth > MAX_NESTING_DEPTH) {
      return {
        ok: false,
        problem: `result nests ${depth} levels deep and at most ${MAX_NESTING_DEPTH} are carried`,
      };
    }
    return { ok: true, text };
  } catch (error) {
    return { ok: false, problem: locate(value) ?? `result cannot be turned into JSON: ${messageOf(error)}` };
  }
}

/** What JSON carries for a single value. @throws TypeError if it would lose it. */
function carry(_key: string, value: unknown): unknown {
  const problem = lossy(value);
  if (problem !== undefined) throw new TypeError(problem);
  return typeof value === "bigint" ? rawJSON(`${value}`) : value;
}

/** Readers of JSON refuse a number beyond the largest double. */
const MOST = BigInt(Number.MAX_VALUE);

/** Why JSON would lose a single value, and what to return instead. */
function lossy(value: unknown): string | undefined {
  if (typeof value === "bigint" && (value > MOST || value < -MOST))
    return "is a BigInt of more than 308 digits, which readers of JSON refuse: use String(x)";
  if (value instanceof Map) return "is a Map, which JSON cannot carry: use Object.fromEntries(x)";
  if (value instanceof Set) return "is a Set, which JSON cannot carry: use [...x]";
  if (value instanceof Promise) return "is a Promise: await it";
  return undefined;
}

/** Names the part of a value that JSON cannot carry. */
function locate(root: unknown): string | undefined {
  const ancestors: unknown[] = [];
  const visit = (value: unknown, path: string): string | undefined => {
    const problem = lossy(value);
    if (problem !== undefined) return `${path} ${problem}`;
    if (typeof value !== "object" || value === null) return undefined;
    if (ancestors.includes(value))
      return `${path} refers back to an object that contains it, which JSON cannot carry`;
    if (ancestors.length > MAX_NESTING_DEPTH) {
      return `result nests deeper than ${MAX_NESTING_DEPTH} levels, which is more than is carried`;
    }
    ancestors.push(value);
    for (const [key, member] of Object.entries(value)) {
      const found = visit(member, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`);
      if (found !== undefined) return found;
    }
    ancestors.pop();
    return undefined;
  };
  try {
    return visit(root, "result");
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
