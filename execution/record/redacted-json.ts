/**
 * Writes a value as JSON without its secrets. Values of servers can be very large, so they are written in slices, and the
 * event loop runs between them.
 */

import { inTurns, STEP_WEIGHT, type Steps, weigh } from "../../base/in-turns.ts";
import { writeJson } from "../../base/json.ts";
import { canonicalJson } from "../../protocol/canonical-json.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { type Redactor, withDistinctNames } from "../../secrets/redaction.ts";
import { TOO_DEEP } from "../../secrets/text-redaction.ts";

export interface RedactedJson {
  json: string;
  redactions: number;
}

/** `canonical`: as RFC 8785 says. `as it is`: members keep their order, on which a program may depend. */
export type JsonForm = "canonical" | "as it is";

const PIECE_CHARS = 64 * 1024;

/**
 * Redacts a JSON value as `Redactor.redactValue` does, and renders it.
 *
 * @throws CanonicalJsonError when `canonical` is asked for and the value has no canonical form.
 */
export async function renderRedactedJson(
  value: unknown,
  redactor: Redactor,
  form: JsonForm,
): Promise<RedactedJson> {
  const writer = new RedactedWriter(redactor, form);
  await inTurns(writer.write(value));
  return { json: writer.pieces.join(""), redactions: writer.redactions };
}

class RedactedWriter {
  readonly pieces: string[] = [];
  redactions = 0;
  readonly #redactor: Redactor;
  readonly #form: JsonForm;

  constructor(redactor: Redactor, form: JsonForm) {
    this.#redactor = redactor;
    this.#form = form;
  }

  /**
   * Writes a value. Yields at points where the caller may pause.
   *
   * @param name the member's name, if this is its value or an item of its value.
   */
  *write(value: unknown, depth = 0, name?: string): Steps<void> {
    if (weigh(value, STEP_WEIGHT) >= 0) this.pieces.push(this.#render(value, name));
    else if (typeof value === "string") yield* this.#writeText(value, name);
    else if (depth >= MAX_NESTING_DEPTH) {
      this.redactions++;
      this.pieces.push(JSON.stringify(TOO_DEEP));
    } else if (Array.isArray(value)) yield* this.#writeArray(value, depth, name);
    else yield* this.#writeObject(value as object, depth);
    yield;
  }

  #render(value: unknown, name?: string): string {
    const { value: redacted, count } = this.#redactor.redactValue(value, name);
    this.redactions += count;
    return this.#form === "canonical" ? canonicalJson(redacted) : (writeJson(redacted) ?? "null");
  }

  *#writeText(text: string, name?: string): Steps<void> {
    const stream = this.#redactor.stream(name);
    let half = "";
    const push = (released: string) => {
      const whole = half + released;
      // JSON.stringify would escape half a surrogate pair, so the first half waits for the second.
      half = /[\ud800-\udbff]$/.test(whole) ? whole.slice(-1) : "";
      this.pieces.push(JSON.stringify(whole.slice(0, whole.length - half.length)).slice(1, -1));
    };
    this.pieces.push('"');
    for (let start = 0; start < text.length; start += PIECE_CHARS) {
      push(stream.push(text.slice(start, start + PIECE_CHARS)));
      yield;
    }
    push(stream.end());
    if (half !== "") this.pieces.push(JSON.stringify(half).slice(1, -1));
    this.pieces.push('"');
    this.redactions += stream.count;
  }

  /** Writes an array. Consecutive small items are written together. */
  *#writeArray(items: readonly unknown[], depth: number, name?: string): Steps<void> {
    let start = 0;
    let room = STEP_WEIGHT;
    const flush = (end: number) => {
      if (end > start)
        this.pieces.push(
          `${start === 0 ? "" : ","}${this.#render(items.slice(start, end), name).slice(1, -1)}`,
        );
      start = end;
      room = STEP_WEIGHT;
    };
    this.pieces.push("[");
    for (const [index, item] of items.entries()) {
      const left = weigh(item, room);
      if (left >= 0) {
        room = left;
        continue;
      }
      flush(index);
      yield;
      room = weigh(item, STEP_WEIGHT);
      if (room >= 0) continue;
      if (index > 0) this.pieces.push(",");
      yield* this.write(item, depth + 1, name);
      start = index + 1;
      room = STEP_WEIGHT;
    }
    flush(items.length);
    this.pieces.push("]");
  }

  *#writeObject(object: object, depth: number): Steps<void> {
    const members: [string, unknown][] = [];
    let changed = false;
    for (const [index, name] of Object.keys(object).entries()) {
      const member = (object as Record<string, unknown>)[name];
      if (member === undefined) continue;
      const { value, count } = this.#redactor.redactText(name);
      this.redactions += count;
      changed ||= count > 0;
      members.push([value, member]);
      if (index % STEP_WEIGHT === 0) yield;
    }
    const named = changed ? withDistinctNames(members) : members;
    if (this.#form === "canonical") named.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    this.pieces.push("{");
    let room = STEP_WEIGHT;
    for (const [index, [name, value]] of named.entries()) {
      this.pieces.push(`${index === 0 ? "" : ","}${JSON.stringify(name)}:`);
      const left = weigh(value, room);
      if (left >= 0) {
        this.pieces.push(this.#render(value, name));
        room = left;
        continue;
      }
      yield;
      yield* this.write(value, depth + 1, name);
      room = STEP_WEIGHT;
    }
    this.pieces.push("}");
  }
}
