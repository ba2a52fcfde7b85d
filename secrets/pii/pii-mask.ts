import { replaceRanges } from "../redaction-matcher.ts";
import type { Redacted, TextMask, TextStream } from "../text-redaction.ts";
import { PiiFinder } from "./pii-finder.ts";
import { CONTEXT_CHARS, type PiiKind, type PiiRange, type PiiSettings } from "./pii-kinds.ts";

/** Replaces personal data in texts by marks that name its kind. */
export class PiiMask {
  readonly #finder: Pick<PiiFinder, "find">;
  readonly #isShown: (kind: PiiKind) => boolean;

  /** @param isShown whether a kind may currently be shown. */
  constructor(finder: Pick<PiiFinder, "find">, isShown: (kind: PiiKind) => boolean = () => false) {
    this.#finder = finder;
    this.#isShown = isShown;
  }

  /** @param name the name of the member whose value the text is. */
  redactText(text: string, name = ""): Redacted<string> {
    const ranges = this.find(text, name);
    if (ranges.length === 0) return { value: text, count: 0 };
    const replaced = replaceRanges(text, ranges, 0, text.length);
    return { value: replaced.text, count: replaced.count };
  }

  /** The ranges of a text to redact, in order and without overlap. @param name as for `redactText`. */
  find(text: string, name = ""): PiiRange[] {
    const ranges: PiiRange[] = [];
    for (let start = 0; start < text.length; ) {
      const end = segmentEnd(text, start) ?? text.length;
      ranges.push(...this.#find(text, start, end, name));
      start = end;
    }
    return ranges;
  }

  /** Redacts a text that comes in pieces, and releases it line by line. @param name as for `redactText`. */
  stream(name = ""): TextStream {
    return new PiiStream((text, start, end) => this.#find(text, start, end, name));
  }

  #find(text: string, start: number, end: number, name: string): PiiRange[] {
    const before = Math.max(0, start - CONTEXT_CHARS);
    const ranges = this.#finder.find({ text: text.slice(before, end), from: start - before, name });
    return ranges
      .filter(({ kind }) => !this.#isShown(kind))
      .map((range) => ({ ...range, start: range.start + before, end: range.end + before }));
  }
}

class PiiStream implements TextStream {
  readonly #find: (text: string, start: number, end: number) => PiiRange[];
  /** The end of the released text, before redaction. */
  #context = "";
  #held = "";
  #count = 0;

  constructor(find: (text: string, start: number, end: number) => PiiRange[]) {
    this.#find = find;
  }

  get count(): number {
    return this.#count;
  }

  push(piece: string): string {
    this.#held += piece;
    const text = this.#context + this.#held;
    const pieces: string[] = [];
    let start = this.#context.length;
    for (let end = segmentEnd(text, start); end !== undefined; end = segmentEnd(text, start)) {
      pieces.push(this.#mask(text, start, end));
      start = end;
    }
    this.#keep(text, start);
    return pieces.join("");
  }

  end(): string {
    return this.#release(this.#held.length);
  }

  cutOff(): string {
    const released = this.#release(unfinishedFrom(this.#held));
    this.#held = "";
    return released;
  }

  #release(chars: number): string {
    const text = this.#context + this.#held;
    const end = this.#context.length + chars;
    const released = this.#mask(text, this.#context.length, end);
    this.#keep(text, end);
    return released;
  }

  #keep(text: string, released: number): void {
    this.#context = text.slice(Math.max(0, released - CONTEXT_CHARS), released);
    this.#held = text.slice(released);
  }

  #mask(text: string, start: number, end: number): string {
    const replaced = replaceRanges(text, this.#find(text, start, end), start, end);
    this.#count += replaced.count;
    return replaced.text;
  }
}

/**
 * Texts are read line by line, and long lines in parts, so that a text that comes in pieces is read like a whole text. No
 * recognised range crosses the end of a part.
 */

/** The longest part of a line. */
const MAX_SEGMENT_CHARS = 8_192;

/** Characters that are never part of personal data. A line is divided after the last of these. */
const DIVIDERS = /[,;{}[\]<>|"\t]/;

/** A space between words is the next best place, because spaces in numbers are beside digits. */
const WORDS = /\p{Ll} \p{Ll}/u;

/** How far back to look for a place to divide. */
const MAX_BACK_CHARS = 4_096;

/** The end of the part that begins at a position, or `undefined` if the text ends before the part does. */
export function segmentEnd(text: string, start: number): number | undefined {
  const limit = start + MAX_SEGMENT_CHARS;
  const part = text.slice(start, limit);
  const line = part.indexOf("\n");
  if (line >= 0) return start + line + 1;
  if (part.length < MAX_SEGMENT_CHARS) return undefined;
  const least = MAX_SEGMENT_CHARS - MAX_BACK_CHARS;
  for (let at = MAX_SEGMENT_CHARS; at > least; at--)
    if (DIVIDERS.test(part.charAt(at - 1))) return start + at;
  for (let at = MAX_SEGMENT_CHARS; at > least; at--)
    if (WORDS.test(part.slice(at - 2, at + 1))) return start + at;
  return /[\ud800-\udbff]$/.test(part) ? limit - 1 : limit;
}

/** The longest recognised range. */
const MAX_RANGE_CHARS = 384;

/** The start of the part that may continue after the end of a text: its last word, and the numbers before that. */
function unfinishedFrom(text: string): number {
  const least = Math.max(0, text.length - MAX_RANGE_CHARS);
  let at = text.length;
  while (at > least && !/\s/.test(text.charAt(at - 1))) at--;
  for (;;) {
    const before = /(?:^|\s)([+(]?[\p{Nd}\p{DI}().\-/_]+|[A-Z0-9]{1,4})\s$/u.exec(
      text.slice(Math.max(least, at - 24), at),
    );
    if (before === null || at <= least) return at;
    at -= before[0].length - (/^\s/.test(before[0]) ? 1 : 0);
  }
}

/** Makes masks that share one finder of personal data. */
export class PiiMasks {
  readonly #finder: PiiFinder;

  constructor(settings: PiiSettings) {
    this.#finder = new PiiFinder(settings);
  }

  /** @param isShown whether a kind may currently be shown. By default, no kind is shown. */
  mask(isShown?: (kind: PiiKind) => boolean): PiiMask {
    return new PiiMask(this.#finder, isShown);
  }
}

/** A mark of `NumberedMarks`. */
const MARK = /\[REDACTED:[a-z_]+:\d+\]/g;

/**
 * Replaces personal data by numbered marks, such as `[REDACTED:email:1]`, and restores it later. This lets a model work with a
 * text without seeing the data in it. Equal data has equal marks.
 */
export class NumberedMarks implements TextMask {
  readonly #mask: PiiMask;
  readonly #marks = new Map<string, string>();
  readonly #values = new Map<string, string>();

  constructor(mask: PiiMask) {
    this.#mask = mask;
  }

  /** The number of different values with a mark. */
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

  /** Restores the marks in a JSON value, including the names of members. Leaves unknown marks unchanged. */
  restore(value: unknown): unknown {
    if (typeof value === "string") return value.replace(MARK, (mark) => this.#values.get(mark) ?? mark);
    if (Array.isArray(value)) return value.map((each: unknown) => this.restore(each));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [this.restore(name), this.restore(each)]),
    );
  }

  /** Uses marks without numbers, because text that comes in pieces is not restored. */
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
