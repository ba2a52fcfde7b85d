/**
 * Keeps secrets out of what ptc shows and stores: configured values in every form that common encoders give them, and tokens
 * that tell by their form what they are. A mark stands in their place (marks.ts), and redacting again changes nothing. Numbers
 * are left alone: a secret that is one is found only as text.
 *
 * One redactor serves a whole process. These are the places where texts leave ptc, and what each of them redacts:
 *
 * - execution/output/runner-output.ts: a program's console, as it is printed.
 * - execution/execute-program.ts: the value or the failure of a program, and the arguments that a person is asked about.
 * - execution/prepare/prepare-program.ts: what bundler and type check say of a program, since they quote it.
 * - execution/redact-observer.ts: names and arguments of calls, for whoever watches a run.
 * - execution/record/record-runs.ts: everything that is archived; execution/record/redacted-json.ts writes large values.
 * - broker/dispatcher.ts: messages of failed calls, which programs get.
 * - archive/audit/audit-log.ts: every line, through a function that host/ hands in.
 * - upstream/listing/redact-listing.ts: definitions of tools, before anything is made of them.
 * - host/composition/model-server.ts: what a model is asked, through a function.
 * - fault-mask.ts: the faults of servers, by stricter rules and with another mark.
 *
 * - upstream/mask-credentials.ts: what a server answers, of the credentials alone that ptc itself uses it with.
 *
 * All else that a server answers to a call reaches the program as it came: the program works with it, and what it makes of it
 * is redacted on its way out. A replay redacts arguments only to compare them with those in the archive
 * (execution/replay/recorded-calls.ts).
 */
import { MAX_NESTING_DEPTH } from "../protocol/limits.ts";
import { TOO_DEEP } from "./marks.ts";
import { replaceRanges, SecretMatcher } from "./redaction-matcher.ts";
import { StreamRedactor } from "./redaction-stream.ts";

/** Something without its secrets, and how many were replaced. */
export interface Redacted<T> {
  value: T;
  count: number;
}

export class Redactor {
  readonly #matcher: SecretMatcher;

  /**
   * @param configured values of `env` and `headers` and expanded variables; `whyNotRedacted` says which are no secrets.
   * @param credentials those that are in places for secrets, such as headers.
   * @param knowsTokens whether tokens are redacted too that tell by their form what they are.
   */
  constructor(configured: readonly string[], credentials: readonly string[] = [], knowsTokens = true) {
    this.#matcher = new SecretMatcher(configured, credentials, knowsTokens);
  }

  /**
   * Adds a credential that was not known at the start. It is redacted in everything from now on, including the text that
   * open streams still hold back. A value that is too short or too common is not redacted (`whyNotRedacted`).
   */
  add(credential: string): void {
    this.#matcher.add(credential);
  }

  /** Adds the values of another configuration, as for the constructor. Those of before are still redacted. */
  learn(configured: readonly string[], credentials: readonly string[]): void {
    this.#matcher.learn(configured, credentials);
  }

  /** Redacts a text. A text without secrets is returned unchanged. */
  redactText(text: string): Redacted<string> {
    const ranges = this.#matcher.find(text);
    if (ranges.length === 0) return { value: text, count: 0 };
    const replaced = replaceRanges(text, ranges, 0, text.length);
    return { value: replaced.text, count: replaced.count };
  }

  /**
   * Redacts every text of a JSON value, including the names of members. A value without secrets is returned itself, not a
   * copy. Members whose names become equal are numbered, so that none is lost.
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
  /** Names without a secret, cached because the rows of a table share them. */
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
    // Unlike an assignment, this makes `__proto__` an ordinary member and not the prototype.
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

/** Numbers the members of an object whose names became equal. */
export function withDistinctNames(members: [string, unknown][]): [string, unknown][] {
  /** How often each name has been used. */
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
