import { replaceRanges, type SecretMatcher } from "./redaction-matcher.ts";
import { TOKEN_CONTEXT_CHARS } from "./token-shapes.ts";

/**
 * Redacts a text that comes in pieces, as if it had come in one. It holds back what could be the beginning of a secret, and
 * no more: a few thousand characters at most, and at the end of a line nearly always nothing.
 */
export class StreamRedactor {
  readonly #matcher: SecretMatcher;
  /** The last that has been let out, as it was, unless it was a secret: what stands before a token decides whether it is one. */
  #context = "";
  #held = "";
  #count = 0;

  constructor(matcher: SecretMatcher) {
    this.#matcher = matcher;
  }

  /** How many secrets have been replaced in what has been let out. */
  get count(): number {
    return this.#count;
  }

  /** Takes the next piece; returns what can be let out by now. */
  push(piece: string): string {
    return piece === "" ? "" : this.#release(this.#context + this.#held + piece, false);
  }

  /** The text has ended: returns the rest. */
  end(): string {
    return this.#held === "" ? "" : this.#release(this.#context + this.#held, true);
  }

  #release(text: string, ended: boolean): string {
    const from = this.#context.length;
    const ranges = this.#matcher.find(text, from);
    let to = ended ? text.length : Math.max(from, this.#matcher.unfinishedFrom(text));
    const cut = ranges.find(({ start, end }) => start < to && to < end);
    if (cut !== undefined) {
      // Secrets that overlap on and on would be held without end.
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
