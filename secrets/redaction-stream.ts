import { replaceRanges, type SecretMatcher } from "./redaction-matcher.ts";
import type { TextStream } from "./text-redaction.ts";
import { TOKEN_CONTEXT_CHARS } from "./token-shapes.ts";

/**
 * Redacts a text that comes in pieces, with the same result as for the complete text. It holds back only what could be the
 * beginning of a secret: at most a few thousand characters, and nearly always nothing at the end of a line.
 */
export class StreamRedactor implements TextStream {
  readonly #matcher: SecretMatcher;
  /** The last released characters, which decide whether a token follows; empty after a secret. */
  #context = "";
  #held = "";
  #count = 0;

  constructor(matcher: SecretMatcher) {
    this.#matcher = matcher;
  }

  /** How many secrets have been replaced in the released text. */
  get count(): number {
    return this.#count;
  }

  /** Takes the next piece and returns the text that can be released. */
  push(piece: string): string {
    return piece === "" ? "" : this.#release(this.#context + this.#held + piece, false);
  }

  /** Ends the text and returns the rest. */
  end(): string {
    return this.#held === "" ? "" : this.#release(this.#context + this.#held, true);
  }

  cutOff(): string {
    this.#context = "";
    this.#held = "";
    return "";
  }

  #release(text: string, ended: boolean): string {
    const from = this.#context.length;
    const ranges = this.#matcher.find(text, from);
    let to = ended ? text.length : Math.max(from, this.#matcher.unfinishedFrom(text));
    const cut = ranges.find(({ start, end }) => start < to && to < end);
    if (cut !== undefined) {
      // An endless chain of overlapping secrets must not be held back for ever.
      to = to - cut.start > this.#matcher.longest ? cut.end : Math.max(from, cut.start);
    }
    const released = replaceRanges(text, ranges, from, to);
    this.#count += released.count;
    const afterSecret = ranges.some(({ end }) => end === to);
    this.#context = afterSecret ? "" : text.slice(Math.max(0, to - TOKEN_CONTEXT_CHARS), to);
    this.#held = text.slice(to);
    return released.text;
  }
}
