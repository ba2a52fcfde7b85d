import { randomInt } from "node:crypto";
import { isObject, writeJson } from "../../base/json.ts";

/** What looks like a date or a time of day stays: another one would be none, or sort otherwise. */
const TIMES = /\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?|\d{1,2}:\d{2}(?::\d{2})?/g;
const WORDS = /[A-Za-z0-9]+/g;
/** Members whose numbers are times. */
const TIME_NAME = /date|time|stamp|_at$|At$|^at$|since|until|created|updated/;
/** Shorter words and numbers are counts, versions and pages. Other ones would lead a program elsewhere. */
const MIN_CHARS = 3;
/** The most values of one answer, and the longest texts together, that are renamed. A larger answer stays as it is. */
const MAX_VALUES = 20_000;
const MAX_CHARS = 4 * 1024 * 1024;

/**
 * Gives what a late read brings other digits: each word with a digit that nobody has said before becomes another word of the same
 * length and form, everywhere the same one. A program that is run again with such answers does the same, and where it passes a value
 * on that came from them, it passes another.
 */
export class Renaming {
  readonly #others = new Map<string, string>();
  readonly #known = new Set<string>();
  #left = MAX_CHARS;
  #isFull = false;

  /** Notes words that are known before a late read. They are not renamed. */
  know(value: unknown): void {
    if (this.#isFull) return;
    const text = typeof value === "string" ? value : (writeJson(value) ?? "");
    this.#left -= text.length;
    this.#isFull = this.#left < 0;
    for (const [word] of this.#isFull ? [] : text.matchAll(WORDS))
      if (isWorth(word) && !this.#others.has(word)) this.#known.add(word);
  }

  /**
   * An answer with other words. Without room for what is known, it stays as it is.
   *
   * @param flips whether truth values are others too.
   */
  rename(value: unknown, flips = false): unknown {
    if (this.#isFull) return value;
    let count = 0;
    let chars = 0;
    const other = (each: unknown, name: string): unknown => {
      if (++count > MAX_VALUES || chars > MAX_CHARS) throw new TooLarge();
      if (typeof each === "string") {
        chars += each.length;
        return this.#text(each);
      }
      if (typeof each === "number") return TIME_NAME.test(name) ? each : this.#number(each);
      if (typeof each === "boolean") return flips ? !each : each;
      if (Array.isArray(each)) return each.map((item: unknown) => other(item, name));
      if (!isObject(each)) return each;
      return Object.fromEntries(Object.entries(each).map(([key, member]) => [key, other(member, key)]));
    };
    try {
      return other(value, "");
    } catch (error) {
      if (error instanceof TooLarge) return value;
      throw error;
    }
  }

  #text(text: string): string {
    const out: string[] = [];
    let from = 0;
    for (const time of text.matchAll(TIMES)) {
      out.push(this.#words(text.slice(from, time.index)), time[0]);
      from = time.index + time[0].length;
    }
    return out.join("") + this.#words(text.slice(from));
  }

  #words(text: string): string {
    return text.replace(WORDS, (word) => this.#word(word));
  }

  #word(word: string): string {
    if (!isWorth(word) || this.#known.has(word)) return word;
    const earlier = this.#others.get(word);
    if (earlier !== undefined) return earlier;
    const other = word.replace(/\d/g, (digit, at: number) => otherDigit(digit, at === 0));
    this.#others.set(word, other);
    return other;
  }

  #number(value: number): number {
    const text = String(value);
    if (!/^-?\d+(?:\.\d+)?$/.test(text) || text.replace(/\D/g, "").length < MIN_CHARS) return value;
    if (this.#known.has(text) || !Number.isSafeInteger(Math.trunc(value))) return value;
    const earlier = this.#others.get(text);
    const other =
      earlier ??
      text.replace(/\d/g, (digit, at: number) => otherDigit(digit, at === 0 || at === text.length - 1));
    this.#others.set(text, other);
    return Number(other);
  }
}

class TooLarge extends Error {}

function isWorth(word: string): boolean {
  return word.length >= MIN_CHARS && /\d/.test(word);
}

/** Another digit; not 0 at the ends of a number, whose length would change, nor instead of one that is not. */
function otherDigit(digit: string, isEnd: boolean): string {
  const choices = [..."123456789"].filter((each) => each !== digit);
  if (!isEnd && digit !== "0") choices.push("0");
  return choices[randomInt(choices.length)] ?? "1";
}
