/**
 * Keeps secrets out of everything that ptc shows and stores: configured values in every form that common encoders give them, and
 * tokens that are recognised by their form. A mark replaces them (text-redaction.ts), and redacting again changes nothing.
 * Redaction leaves numbers alone: it finds a numeric secret only as text.
 *
 * One redactor serves a whole process. If personal data is redacted too (pii/), each run has a separate redactor with the same
 * secrets. Texts outside of runs, such as definitions of tools, keep personal data. These are the places where texts leave ptc,
 * and what each of them redacts:
 *
 * - execution/output/runner-output.ts: a program's console, as it is printed.
 * - execution/run.ts: the value or the failure of a run, and the arguments that a person is asked about.
 * - languages/prepare-program.ts: messages of the bundler and the type check, which quote the program.
 * - execution/redact-run.ts: names and arguments of calls, for observers of a run.
 * - execution/record/record-runs.ts: everything that is archived; execution/record/redacted-json.ts writes large values.
 * - broker/dispatcher.ts: messages of failed calls, which programs get.
 * - archive/audit/audit-log.ts: every line, through a function that project/ passes in.
 * - project/servers/model-server.ts: requests to a model, through a function.
 * - redaction-secrets.ts (`FaultMask`): the faults of servers, by stricter rules and with another mark.
 * - upstream/redact-connection.ts: definitions of tools, before anything uses them. In a server's answers, it redacts only the
 *   credentials with which ptc itself uses the server.
 *
 * Everything else in a server's answer reaches the program unchanged. The program works with it, and the program's output is
 * redacted on its way out. A replay redacts arguments only to compare them with those in the archive
 * (execution/replay/recorded-calls.ts).
 */
import { inTurns, isLight, StepRoom, type Steps } from "../base/in-turns.ts";
import { MAX_NESTING_DEPTH } from "../protocol/limits.ts";
import { replaceRanges, SecretMatcher } from "./redaction-matcher.ts";
import { chainStreams, type Redacted, type TextMask, type TextStream, TOO_DEEP } from "./text-redaction.ts";
import { TOKEN_CONTEXT_CHARS } from "./token-shapes.ts";

export class Redactor {
  #matcher: SecretMatcher;
  #mask: TextMask | undefined;

  /**
   * @param configured values of `env` and `headers` and expanded variables. `whyNotRedacted` says which are not secrets.
   * @param credentials configured values in places for secrets, such as headers.
   * @param knowsTokens whether to redact tokens by their form too.
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

  /** Adds the values of another configuration, as for the constructor. Earlier values are still redacted. */
  learn(configured: readonly string[], credentials: readonly string[]): void {
    this.#matcher.learn(configured, credentials);
  }

  /** A redactor of the same secrets, including those that are added later, which then applies a mask to the rest of a text. */
  with(mask: TextMask): Redactor {
    const redactor = new Redactor([], [], false);
    redactor.#matcher = this.#matcher;
    redactor.#mask = mask;
    return redactor;
  }

  /**
   * Redacts a text. A text without secrets is returned unchanged.
   *
   * @param name the name of the member whose value the text is, which may say what the text is.
   */
  redactText(text: string, name?: string): Redacted<string> {
    const ranges = this.#matcher.find(text);
    const found = ranges.length === 0 ? NOTHING : replaceRanges(text, ranges, 0, text.length);
    const without = found === NOTHING ? text : found.text;
    const masked = this.#mask?.redactText(without, name);
    return masked === undefined
      ? { value: without, count: found.count }
      : { value: masked.value, count: found.count + masked.count };
  }

  /** Redacts a number that is personal data. Returns `undefined` if the number may be shown. */
  redactNumber(number: number | bigint, name?: string): Redacted<string> | undefined {
    if (this.#mask === undefined || (number > -MIN_NUMBER && number < MIN_NUMBER)) return undefined;
    const masked = this.#mask.redactText(String(number), name);
    return masked.count === 0 ? undefined : masked;
  }

  /**
   * Redacts every text of a JSON value, including the names of members. A value without secrets is returned itself, not a
   * copy. Members whose names become equal are numbered, so that none is lost.
   *
   * @param name the name of the member whose value, or an item of whose value, this is.
   */
  redactValue(value: unknown, name?: string): Redacted<unknown> {
    return new ValueRedaction(this).run(value, name);
  }

  /** As `redactValue`, with turns of the event loop between the parts of a large value. */
  async redactInTurns(value: unknown, name?: string): Promise<Redacted<unknown>> {
    const redaction = new ValueRedaction(this);
    return isLight(value) ? redaction.run(value, name) : inTurns(redaction.steps(value, name));
  }

  /** A redactor for a text that comes in pieces. @param name as for `redactText`. */
  stream(name?: string): TextStream {
    const stream = new StreamRedactor(this.#matcher);
    return this.#mask === undefined ? stream : chainStreams(stream, this.#mask.stream(name));
  }
}

const NOTHING = { text: "", count: 0 };

/** The smallest number that a mask checks. */
const MIN_NUMBER = 1_000_000;

class ValueRedaction {
  readonly #redactor: Redactor;
  /** Names without a secret, cached because the rows of a table share them. */
  readonly #cleanNames = new Set<string>();
  #count = 0;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  run(value: unknown, name?: string): Redacted<unknown> {
    const redacted = this.#value(value, 0, name);
    return { value: redacted, count: this.#count };
  }

  *steps(value: unknown, name?: string): Steps<Redacted<unknown>> {
    const redacted = yield* this.#steps(value, 0, name);
    return { value: redacted, count: this.#count };
  }

  *#steps(value: unknown, depth: number, name?: string): Steps<unknown> {
    if (typeof value === "string" && value.length > LONG_CHARS) return yield* this.#longText(value, name);
    const isContainer = typeof value === "object" && value !== null;
    if (!isContainer || depth >= MAX_NESTING_DEPTH || isLight(value)) return this.#value(value, depth, name);
    const room = new StepRoom();
    const list = Array.isArray(value) ? [...(value as unknown[])] : undefined;
    const names = list === undefined ? Object.keys(value) : undefined;
    const members: [string, unknown][] = [];
    let changed = false;
    for (let i = 0; i < (names ?? list ?? []).length; i++) {
      const own = names?.[i];
      const part = own === undefined ? list?.[i] : (value as Record<string, unknown>)[own];
      const { isFull, isHeavy } = room.take(part);
      if (isFull) yield;
      const shown = own === undefined ? name : this.#name(own);
      const redacted = isHeavy
        ? yield* this.#steps(part, depth + 1, shown)
        : this.#value(part, depth + 1, shown);
      changed ||= redacted !== part || (own !== undefined && shown !== own);
      if (list !== undefined) list[i] = redacted;
      else members.push([shown as string, redacted]);
    }
    if (!changed) return value;
    return list ?? Object.fromEntries(withDistinctNames(members));
  }

  *#longText(text: string, name?: string): Steps<string> {
    const stream = this.#redactor.stream(name);
    const parts: string[] = [];
    for (let start = 0; start < text.length; start += LONG_CHARS) {
      parts.push(stream.push(text.slice(start, start + LONG_CHARS)));
      yield;
    }
    parts.push(stream.end());
    this.#count += stream.count;
    return stream.count === 0 ? text : parts.join("");
  }

  /** @param name as for `redactValue`. */
  #value(value: unknown, depth: number, name?: string): unknown {
    if (typeof value === "string") return this.#text(value, name);
    if (typeof value === "number" || typeof value === "bigint") return this.#number(value, name);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= MAX_NESTING_DEPTH) {
      this.#count++;
      return TOO_DEEP;
    }
    return Array.isArray(value) ? this.#array(value, depth, name) : this.#object(value, depth);
  }

  #text(text: string, name?: string): string {
    const { value, count } = this.#redactor.redactText(text, name);
    this.#count += count;
    return value;
  }

  #number(number: number | bigint, name?: string): unknown {
    const redacted = this.#redactor.redactNumber(number, name);
    this.#count += redacted?.count ?? 0;
    return redacted?.value ?? number;
  }

  #array(array: readonly unknown[], depth: number, name?: string): unknown {
    let copy: unknown[] | undefined;
    for (const [index, item] of array.entries()) {
      const redacted = this.#value(item, depth + 1, name);
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
      const value = this.#value(member[1], depth + 1, name);
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

/** A longer text is redacted in pieces of this length. */
const LONG_CHARS = 128 * 1024;

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

/**
 * Redacts a text that comes in pieces, with the same result as for the complete text. It holds back only a possible beginning of
 * a secret: at most a few thousand characters, and nearly always nothing at the end of a line.
 */
class StreamRedactor implements TextStream {
  readonly #matcher: SecretMatcher;
  /** The last released characters, which decide whether a token follows. Empty after a secret. */
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
      // An endless chain of overlapping secrets must not be held back forever.
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
