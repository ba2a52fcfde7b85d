import type { Redacted, TextMask, TextStream } from "../text-redaction.ts";
import type { PiiMask } from "./pii-mask.ts";

/** A mark of `NumberedMarks`. */
const MARK = /\[REDACTED:[a-z_]+:\d+\]/g;

/**
 * Replaces personal data by marks with a number, such as `[REDACTED:email:1]`, and puts it back: for a model that works with a text
 * and is not to see what is in it. The same data has the same mark, so that what is equal stays equal.
 */
export class NumberedMarks implements TextMask {
  readonly #mask: PiiMask;
  readonly #marks = new Map<string, string>();
  readonly #values = new Map<string, string>();

  constructor(mask: PiiMask) {
    this.#mask = mask;
  }

  /** How many different values have a mark. */
  get size(): number {
    return this.#marks.size;
  }

  redactText(text: string, name?: string): Redacted<string> {
    const ranges = this.#mask.find(text, name);
    const pieces: string[] = [];
    let at = 0;
    for (const { start, end, kind } of ranges) {
      pieces.push(text.slice(at, start), this.#markOf(text.slice(start, end), kind));
      at = end;
    }
    return { value: pieces.join("") + text.slice(at), count: ranges.length };
  }

  /** Puts back what the marks in a JSON value stand for, also in names of members. What is no mark of these stays. */
  restore(value: unknown): unknown {
    if (typeof value === "string") return value.replace(MARK, (mark) => this.#values.get(mark) ?? mark);
    if (Array.isArray(value)) return value.map((each: unknown) => this.restore(each));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [this.restore(name), this.restore(each)]),
    );
  }

  /** Without numbers: what comes in pieces is not put back. */
  stream(name?: string): TextStream {
    return this.#mask.stream(name);
  }

  #markOf(value: string, kind: string): string {
    const known = this.#marks.get(value);
    if (known !== undefined) return known;
    const mark = `[REDACTED:${kind}:${this.#marks.size + 1}]`;
    this.#marks.set(value, mark);
    this.#values.set(mark, value);
    return mark;
  }
}
