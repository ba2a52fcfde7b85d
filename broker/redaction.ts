/**
 * Keeps secrets out of what ptc shows and stores: configured values in every form that common encoders give them, and tokens
 * that tell by their form what they are. A configured value becomes `[REDACTED]`, a token `[REDACTED:kind]`; neither needs an
 * escape in JSON, and redacting again changes nothing. Numbers are left alone: a secret that is one is found only as text.
 */
import { MAX_NESTING_DEPTH } from "../protocol/limits.ts";
import { replaceRanges, SecretMatcher } from "./redaction-matcher.ts";
import { StreamRedactor } from "./redaction-stream.ts";

/** Something without its secrets, and how many were replaced. */
export interface Redacted<T> {
  value: T;
  count: number;
}

/** What stands for the part of a value that is nested deeper than the wall lets through. */
const TOO_DEEP = "[REDACTED:too-deep]";

export class Redactor {
  readonly #matcher: SecretMatcher;

  /**
   * @param configured values of `env` and `headers` and expanded variables; `whyNotRedacted` tells which are no secrets.
   * @param credentials those of them that stand where secrets stand.
   */
  constructor(configured: readonly string[], credentials: readonly string[] = []) {
    this.#matcher = new SecretMatcher(configured, credentials);
  }

  /** Redacts a text. One without secrets is returned as it is. */
  redactText(text: string): Redacted<string> {
    const ranges = this.#matcher.find(text);
    if (ranges.length === 0) return { value: text, count: 0 };
    const replaced = replaceRanges(text, ranges, 0, text.length);
    return { value: replaced.text, count: replaced.count };
  }

  /**
   * Redacts every text of a JSON value, names of members included. What holds no secret is returned itself, not a copy.
   * Members whose names become the same are numbered, so that none is lost.
   */
  redactValue(value: unknown): Redacted<unknown> {
    return new ValueRedaction(this).run(value);
  }

  /** A redactor for a text that comes in pieces. */
  stream(): StreamRedactor {
    return new StreamRedactor(this.#matcher);
  }
}

class ValueRedaction {
  readonly #redactor: Redactor;
  /** Names without a secret: the rows of a table have the same. */
  readonly #cleanNames = new Set<string>();
  #count = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  run(value: unknown): Redacted<unknown> {
    const redacted = this.#value(value, 0);
    return { value: redacted, count: this.#count };
  }

  #value(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_NESTING_DEPTH) {
      this.#count++;
      return TOO_DEEP;
    }
    return Array.isArray(value) ? this.#array(value, depth) : this.#object(value, depth);
  }

  #text(text: string): string {
    const { value, count } = this.#redactor.redactText(text);
    this.#count += count;
    return value;
  }

  #array(array: readonly unknown[], depth: number): unknown {
    let copy: unknown[] | undefined;
    for (const [index, item] of array.entries()) {
      const redacted = this.#value(item, depth + 1);
      if (redacted === item) continue;
      copy ??= [...array];
      copy[index] = redacted;
    }
    return copy ?? array;
  }

  #object(object: object, depth: number): unknown {
    const members = Object.entries(object);
    let changed = false;
    for (const member of members) {
      const name = this.#name(member[0]);
      const value = this.#value(member[1], depth + 1);
      if (name === member[0] && value === member[1]) continue;
      changed = true;
      member[0] = name;
      member[1] = value;
    }
    // Unlike an assignment, this makes a member of `__proto__` and never a prototype.
    return changed ? Object.fromEntries(withDistinctNames(members)) : object;
  }

  #name(name: string): string {
    if (this.#cleanNames.has(name)) return name;
    const redacted = this.#text(name);
    if (redacted === name && this.#cleanNames.size < MAX_CLEAN_NAMES) this.#cleanNames.add(name);
    return redacted;
  }
}

const MAX_CLEAN_NAMES = 10_000;

function withDistinctNames(members: [string, unknown][]): [string, unknown][] {
  /** How often each name has been given out. */
  const given = new Map<string, number>();
  return members.map(([name, value]) => {
    let distinct = name;
    while (given.has(distinct)) {
      const times = (given.get(name) ?? 0) + 1;
      given.set(name, times);
      distinct = `${name} (${times})`;
    }
    given.set(distinct, 1);
    return [distinct, value];
  });
}
