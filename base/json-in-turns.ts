/**
 * Reads large JSON in steps. A text is taken apart at its large arrays and objects, and what is between them is parsed by V8 in pieces, each
 * within the same limits. The value is the one that `parseForeignJson` reads, and the texts that are refused are the same.
 */
import { inTurns, type Steps } from "./in-turns.ts";
import {
  endOfString,
  ForeignJsonError,
  type JsonLimits,
  MAX_JSON_MEMBERS,
  MAX_JSON_VALUES,
  parseForeignJson,
  parsePiece,
  skipJsonSpace,
} from "./json.ts";

/** What is parsed in one step. A longer text of JSON is one step, too: V8 reads it in one go. */
const PIECE_CHARS = 64 * 1024;
/** A text up to this long is parsed at once. */
const SHORT_CHARS = 2 * PIECE_CHARS;

/** As `parseForeignJson`, with turns of the event loop between the parts of a large text. @throws ForeignJsonError */
export async function parseForeignJsonInTurns(
  json: string | Uint8Array,
  limits: JsonLimits,
): Promise<unknown> {
  return json.length <= SHORT_CHARS ? parseForeignJson(json, limits) : inTurns(parseSteps(json, limits));
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The steps of `parseForeignJsonInTurns`. @param pieceChars how much is parsed in each step. */
export function* parseSteps(
  json: string | Uint8Array,
  limits: JsonLimits,
  pieceChars = PIECE_CHARS,
): Steps<unknown> {
  if (json.length > limits.maxBytes) return parseForeignJson(json, limits);
  let text: string;
  try {
    text = typeof json === "string" ? json : UTF8.decode(json);
  } catch {
    return parseForeignJson(json, limits);
  }
  yield;
  const start = skipJsonSpace(text, 0);
  if (!isOpening(text.charCodeAt(start))) return parseForeignJson(text, limits);
  return yield* new Reader(text, limits, pieceChars).read(start);
}

/** An array or object that is being read. */
interface Open {
  target: unknown[] | Record<string, unknown>;
  isArray: boolean;
  members: number;
  /** Its name in the object that it is in. */
  name: string | undefined;
}

class Reader {
  readonly #text: string;
  readonly #limits: Required<JsonLimits>;
  readonly #pieceChars: number;
  readonly #open: Open[] = [];
  #values = 0;

  constructor(text: string, limits: JsonLimits, pieceChars: number) {
    this.#text = text;
    this.#pieceChars = pieceChars;
    this.#limits = { maxValues: MAX_JSON_VALUES, maxMembers: MAX_JSON_MEMBERS, ...limits };
  }

  *read(start: number): Steps<unknown> {
    const text = this.#text;
    this.#enter(start, undefined);
    let at = start + 1;
    for (;;) {
      const top = this.#open.at(-1) as Open;
      const piece = this.#pieceFrom(at, top);
      if (piece.end > piece.start) {
        yield;
        yield* this.#add(text.slice(piece.start, piece.end), top);
        yield;
      }
      at = piece.next;
      if (piece.kind === "enter") {
        this.#enter(at, piece.name);
        at++;
        yield;
        continue;
      }
      if (piece.kind === "more") continue;
      const whole = this.#leave();
      at = skipJsonSpace(text, at + 1);
      const outer = this.#open.at(-1);
      if (outer === undefined) {
        if (at < text.length) throw notJson(at);
        return whole.target;
      }
      this.#attach(outer, whole);
      const code = text.charCodeAt(at);
      if (code === COMMA) {
        at = skipJsonSpace(text, at + 1);
        if (isClosing(text.charCodeAt(at))) throw notJson(at);
      } else if (!isClosing(code)) throw notJson(at);
    }
  }

  /**
   * Finds what comes next in a container: consecutive small items from `start` to `end`, and what follows them at `next`: the bracket of a
   * large item, the closing bracket, or more items.
   */
  #pieceFrom(
    from: number,
    { isArray }: Open,
  ):
    | { kind: "enter"; start: number; end: number; next: number; name: string | undefined }
    | { kind: "more" | "leave"; start: number; end: number; next: number } {
    const text = this.#text;
    const start = skipJsonSpace(text, from);
    /** Where the last whole item ends, and where the item begins that is looked at. */
    let end = start;
    let item = start;
    let plain = start;
    for (let i = start; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === QUOTE) i = endOfString(text, i);
      else if (isOpening(code)) {
        const close = closeOf(text, i, i + this.#pieceChars);
        if (close === undefined) {
          const name = this.#nameBefore(item, i, isArray);
          return { kind: "enter", start, end, next: i, name };
        }
        i = close;
      } else if (code === COMMA) {
        if (i === start) throw notJson(i);
        end = i;
        if (i - start < this.#pieceChars) {
          item = i + 1;
          plain = item;
          continue;
        }
        const next = skipJsonSpace(text, i + 1);
        if (isClosing(text.charCodeAt(next))) throw notJson(next);
        return { kind: "more", start, end, next };
      } else if (code === (isArray ? CLOSE_BRACKET : CLOSE_BRACE)) {
        return { kind: "leave", start, end: i, next: i };
      } else if (isClosing(code)) throw notJson(i);
      else {
        if (i - plain < MANY_PLAIN) continue;
        STRUCTURE.lastIndex = i;
        i = (STRUCTURE.exec(text)?.index ?? text.length) - 1;
      }
      plain = i + 1;
    }
    throw notJson(text.length);
  }

  /** The name of a large member, and that nothing but white space precedes a large item. */
  #nameBefore(from: number, to: number, isArray: boolean): string | undefined {
    const before = this.#text.slice(from, to);
    try {
      if (isArray && before.trim() === "") return undefined;
      const names = isArray ? [] : Object.keys(JSON.parse(`{${before}0}`) as object);
      if (names.length === 1) return names[0];
    } catch {
      // What is wrong with it is said below.
    }
    throw notJson(from);
  }

  #enter(at: number, name: string | undefined): void {
    const isArray = this.#text.charCodeAt(at) === OPEN_BRACKET;
    this.#open.push({ target: isArray ? [] : {}, isArray, members: 0, name });
    if (this.#open.length > this.#limits.maxDepth) throw tooDeep(this.#limits);
    this.#count(1);
  }

  #leave(): Open {
    return this.#open.pop() as Open;
  }

  #attach(outer: Open, { name, target }: Open): void {
    if (outer.isArray) (outer.target as unknown[]).push(target);
    else this.#define(outer, name as string, target);
  }

  /** Adds a piece with small items to the container that is being read. */
  *#add(piece: string, open: Open): Steps<void> {
    const { maxDepth, maxValues, maxMembers } = this.#limits;
    const { isArray, target } = open;
    let read: { value: unknown; values: number };
    try {
      read = yield* parsePiece(isArray ? `[${piece}]` : `{${piece}}`, {
        maxDepth: maxDepth - this.#open.length + 1,
        maxValues: maxValues - this.#values + 1,
        maxMembers,
      });
    } catch (error) {
      if (!(error instanceof ForeignJsonError)) throw error;
      if (error.code === "too_deep") throw tooDeep(this.#limits);
      if (error.code === "too_many_values") throw tooManyValues(this.#limits);
      throw error;
    }
    // The container is counted already.
    this.#count(read.values - 1);
    if (isArray) for (const item of read.value as unknown[]) (target as unknown[]).push(item);
    else
      for (const name of Object.keys(read.value as object))
        this.#define(open, name, (read.value as Record<string, unknown>)[name]);
  }

  #define(open: Open, name: string, value: unknown): void {
    const { maxMembers } = this.#limits;
    const target = open.target as Record<string, unknown>;
    if (Object.hasOwn(target, name)) {
      const shown = JSON.stringify(name.slice(0, MAX_SHOWN_CHARS));
      throw new ForeignJsonError("duplicate_key", `has the key ${shown} twice in one object`);
    }
    if (++open.members > maxMembers)
      throw new ForeignJsonError("too_many_members", `has an object with more than ${maxMembers} members`);
    if (name !== "__proto__") target[name] = value;
    else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  }

  #count(values: number): void {
    this.#values += values;
    if (this.#values > this.#limits.maxValues) throw tooManyValues(this.#limits);
  }
}

/** After so many characters of numbers or white space, the next that is of structure is searched. */
const MANY_PLAIN = 64;
const STRUCTURE = /["[\]{},]/g;

const MAX_SHOWN_CHARS = 64;

const notJson = (at: number) => new ForeignJsonError("not_json", `is not JSON (at position ${at})`);

const tooDeep = ({ maxDepth }: JsonLimits) =>
  new ForeignJsonError("too_deep", `nests deeper than ${maxDepth} levels`);

const tooManyValues = ({ maxValues }: JsonLimits) =>
  new ForeignJsonError("too_many_values", `holds more than ${maxValues} values`);

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const isOpening = (code: number) => code === OPEN_BRACKET || code === OPEN_BRACE;
const isClosing = (code: number) => code === CLOSE_BRACKET || code === CLOSE_BRACE;

/** Where the container that opens at a place closes, unless that is beyond `limit`. Brackets may be of the wrong kind. */
function closeOf(text: string, from: number, limit: number): number | undefined {
  let depth = 0;
  for (let i = from; i < limit && i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i, limit);
    else if (isOpening(code)) depth++;
    else if (isClosing(code) && --depth === 0) return i;
  }
  return undefined;
}
