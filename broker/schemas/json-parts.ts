import { setImmediate } from "node:timers/promises";
import { writeJson } from "../../base/json.ts";

/**
 * Writes the JSON text of a value in parts, so that a large value does not block the event loop. For values from `JSON.parse`, the
 * text equals that of `JSON.stringify`.
 */

const PART_CHARS = 64 * 1024;

/** How long parts are written before the event loop gets a turn. */
const SLICE_MS = 8;

type Items = Readonly<Record<string | number, unknown>>;

/** An array or object that has been written in part. */
interface Open {
  items: Items;
  /** `undefined` for an array. */
  names: readonly string[] | undefined;
  length: number;
  written: number;
}

/** Yields parts of about 64 Ki characters. Strings are cut anywhere, also within a surrogate pair. */
function* jsonParts(value: unknown): Generator<string, void> {
  const open: Open[] = [];
  let text = "";
  let current = value;
  for (;;) {
    if (typeof current === "string") {
      for (const part of stringParts(current)) {
        text += part;
        if (text.length >= PART_CHARS) {
          yield text;
          text = "";
        }
      }
    } else if (typeof current === "object" && current !== null) {
      const names = Array.isArray(current) ? undefined : Object.keys(current);
      const length = names?.length ?? (current as unknown[]).length;
      open.push({ items: current as Items, names, length, written: 0 });
      text += names === undefined ? "[" : "{";
    } else {
      text += writeJson(current) ?? "null";
    }
    let top = open.at(-1);
    while (top !== undefined && top.written === top.length) {
      text += top.names === undefined ? "]" : "}";
      open.pop();
      top = open.at(-1);
    }
    if (text.length >= PART_CHARS) {
      yield text;
      text = "";
    }
    if (top === undefined) break;
    const index = top.written++;
    if (index > 0) text += ",";
    const name = top.names?.[index];
    if (name !== undefined) text += `${JSON.stringify(name)}:`;
    current = top.items[name ?? index];
  }
  yield text;
}

function* stringParts(value: string): Generator<string, void> {
  if (value.length <= PART_CHARS) {
    yield JSON.stringify(value);
    return;
  }
  yield '"';
  // Half of a surrogate pair is written as an escape. Both escapes together are read as the same pair.
  for (let start = 0; start < value.length; start += PART_CHARS)
    yield JSON.stringify(value.slice(start, start + PART_CHARS)).slice(1, -1);
  yield '"';
}

/** A value with fewer characters is written in one go. */
const SHORT_CHARS = 256 * 1024;
const CHARS_OF_VALUE = 8;
/** A value that nests deeper is written in parts, because `JSON.stringify` recurses. */
const SHORT_DEPTH = 200;

/** Whether a value can be written within a few milliseconds. */
function isShort(value: unknown): boolean {
  let left = SHORT_CHARS;
  const visit = (part: unknown, depth: number): boolean => {
    left -= typeof part === "string" ? CHARS_OF_VALUE + part.length : CHARS_OF_VALUE;
    if (left < 0 || depth > SHORT_DEPTH) return false;
    if (typeof part !== "object" || part === null) return true;
    if (Array.isArray(part)) return part.every((item) => visit(item, depth + 1));
    return Object.entries(part).every(([name, member]) => {
      left -= name.length;
      return visit(member, depth + 1);
    });
  };
  return visit(value, 0);
}

/** The parts of a value's JSON text. The event loop runs in between. */
export async function* jsonInTurns(value: unknown): AsyncGenerator<string, void> {
  if (isShort(value)) {
    yield writeJson(value) ?? "null";
    return;
  }
  let sliceEnds = performance.now() + SLICE_MS;
  for (const part of jsonParts(value)) {
    yield part;
    if (performance.now() < sliceEnds) continue;
    await setImmediate();
    sliceEnds = performance.now() + SLICE_MS;
  }
}

/** The JSON text of a value; `undefined` if it has more than `maxChars` characters. */
export async function boundedJson(value: unknown, maxChars: number): Promise<string | undefined> {
  let text = "";
  for await (const part of jsonInTurns(value)) {
    text += part;
    if (text.length > maxChars) return undefined;
  }
  return text;
}
