import { replaceRanges } from "../redaction-matcher.ts";
import type { Redacted, TextStream } from "../text-redaction.ts";
import type { PiiFinder } from "./pii-finder.ts";
import type { PiiKind, PiiRange } from "./pii-kinds.ts";
import { CONTEXT_CHARS } from "./recognisers/excerpts.ts";
import { segmentEnd, unfinishedFrom } from "./segments.ts";

/** Replaces personal data in texts by marks that name its kind. */
export class PiiMask {
  readonly #finder: Pick<PiiFinder, "find">;
  readonly #isShown: (kind: PiiKind) => boolean;

  /** @param isShown whether a kind is left as it is just now. */
  constructor(finder: Pick<PiiFinder, "find">, isShown: (kind: PiiKind) => boolean = () => false) {
    this.#finder = finder;
    this.#isShown = isShown;
  }

  /** @param name of the member of which the text is the value. */
  redactText(text: string, name = ""): Redacted<string> {
    const ranges = this.find(text, name);
    if (ranges.length === 0) return { value: text, count: 0 };
    const replaced = replaceRanges(text, ranges, 0, text.length);
    return { value: replaced.text, count: replaced.count };
  }

  /** Where in a text there is what is not shown, in order and without overlap. @param name as for `redactText`. */
  find(text: string, name = ""): PiiRange[] {
    const ranges: PiiRange[] = [];
    for (let start = 0; start < text.length; ) {
      const end = segmentEnd(text, start) ?? text.length;
      ranges.push(...this.#find(text, start, end, name));
      start = end;
    }
    return ranges;
  }

  /** For a text that comes in pieces. It is released line by line. @param name as for `redactText`. */
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
  /** The last of what was released, as it was before redaction. */
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
