/**
 * Reads JSON (RFC 8259) from foreign sources: a program, a server, a file from elsewhere. Limits apply before any value is built
 * from the text. A parsed value can be serialized again: every number is finite, and no object has a name twice.
 *
 * A whole number keeps all digits. One that JavaScript's numbers would round (beyond 2^53 - 1, and written without fraction and
 * exponent) is a `bigint` on the host. `writeJson` writes it back, and `JSON.stringify` throws.
 */

// In a sandbox, programs share this realm and may replace them. Node.js 22 has `rawJSON`, but TypeScript's library does not declare it.
const { parse: parseJson, stringify, rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** Why a text was refused. */
export type JsonFault =
  | "not_utf8"
  | "not_json"
  | "too_large"
  | "too_deep"
  | "too_many_values"
  | "too_many_members"
  | "non_finite"
  | "duplicate_key";

/** Thrown for refused JSON. The message is a predicate, so that callers can put a subject before it. */
export class ForeignJsonError extends Error {
  override readonly name = "ForeignJsonError";
  readonly code: JsonFault;

  constructor(code: JsonFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface JsonLimits {
  /** Bytes of UTF-8, or UTF-16 code units when the text is already decoded. */
  maxBytes: number;
  /** Nesting of arrays and objects. Recursive code overflows the stack at a few thousand levels. */
  maxDepth: number;
  /** Values of any kind, including those in arrays and objects. */
  maxValues?: number;
  /** Members of one object. */
  maxMembers?: number;
}

/**
 * Maximum number of members of one object. V8 takes many times as long for each member of such an object as for a member of a small one
 * or an item of a list, and does much with all of them at once: it lists, copies, sorts or writes them.
 */
export const MAX_JSON_MEMBERS = 50_000;

/** Maximum number of values in one message. Building and walking more of them delays other work noticeably. */
export const MAX_JSON_VALUES = 1_000_000;

/**
 * Parses one JSON text.
 *
 * @throws ForeignJsonError
 */
export function parseForeignJson(json: string | Uint8Array, limits: JsonLimits): unknown {
  return read(json, limits).value;
}

/** Parses a part of a JSON text that is JSON itself, in few steps, and counts its values. @throws ForeignJsonError */
export function* parsePiece(
  json: string,
  limits: Required<Omit<JsonLimits, "maxBytes">>,
): Generator<void, { value: unknown; values: number }> {
  const outline = outlineWithin(json, limits);
  yield;
  const value = parseOutlined(json, outline);
  yield;
  checkOutlined(json, value, outline);
  return { value, values: outline.values };
}

function read(json: string | Uint8Array, limits: JsonLimits): { value: unknown; outline: JsonOutline } {
  const { maxBytes, maxDepth, maxValues = MAX_JSON_VALUES, maxMembers = MAX_JSON_MEMBERS } = limits;
  if (json.length > maxBytes)
    throw new ForeignJsonError("too_large", `is ${json.length} bytes, and at most ${maxBytes} are read`);
  const text = typeof json === "string" ? json : decode(json);
  const outline = outlineWithin(text, { maxDepth, maxValues, maxMembers });
  const value = parseOutlined(text, outline);
  checkOutlined(text, value, outline);
  return { value, outline };
}

function outlineWithin(
  text: string,
  { maxDepth, maxValues, maxMembers }: Required<Omit<JsonLimits, "maxBytes">>,
): JsonOutline {
  const outline = outlineOf(text, { maxDepth, maxValues, maxMembers });
  if (outline.depth > maxDepth)
    throw new ForeignJsonError("too_deep", `nests deeper than ${maxDepth} levels`);
  if (outline.values > maxValues)
    throw new ForeignJsonError("too_many_values", `holds more than ${maxValues} values`);
  if (outline.mostMembers > maxMembers)
    throw new ForeignJsonError("too_many_members", `has an object with more than ${maxMembers} members`);
  if (outline.hasEndlessNumber)
    throw new ForeignJsonError("non_finite", `holds a number of more than ${MAX_NUMBER_CHARS} characters`);
  return outline;
}

function parseOutlined(text: string, { hasBigIntegers }: JsonOutline): unknown {
  return hasBigIntegers ? parseExactly(text, parse) : parse(text);
}

/** Refuses a value with a number that is not finite, and one of a text with a name twice in one object. */
function checkOutlined(text: string, value: unknown, outline: JsonOutline): void {
  if (outline.members === 0 && !outline.hasLongNumbers) return;
  if (countMembers(value, outline.hasLongNumbers) === outline.members) return;
  const name = stringify(duplicateKeyIn(text).slice(0, MAX_SHOWN_CHARS));
  throw new ForeignJsonError("duplicate_key", `has the key ${name} twice in one object`);
}

/**
 * Parses one JSON text, and says whether it is certainly what JSON.stringify makes of the value. Such a text has no white space, no
 * escapes, no numbers that can be written differently, and no names that JSON.stringify would move to the front.
 *
 * @throws ForeignJsonError
 */
export function parseWrittenJson(json: string, limits: JsonLimits): { value: unknown; isCompact: boolean } {
  const { value, outline } = read(json, limits);
  return { value, isCompact: outline.isCompact && !json.includes("\\") && isWellFormed(json) };
}

/** Returns an upper bound on the number of values in a JSON text, including those in arrays and objects. */
export function countJsonValues(json: string): number {
  return outlineOf(json).values;
}

/**
 * Why a JSON text is too large for whoever reads it, as a predicate; `undefined` where it is not. Reads no text that is too short for that.
 */
export function whyTooLarge(
  json: string,
  { maxValues, maxMembers = MAX_JSON_MEMBERS }: { maxValues: number; maxMembers?: number | undefined },
): string | undefined {
  // Every value takes about two characters, and every member five.
  if (json.length <= Math.min(2 * maxValues, 5 * maxMembers)) return undefined;
  const { values, mostMembers } = outlineOf(json);
  if (values > maxValues) return `holds more than ${maxValues} values`;
  return mostMembers > maxMembers ? `has an object with more than ${maxMembers} members` : undefined;
}

/** Returns how deep arrays and objects nest in a JSON text. */
export function jsonDepth(json: string): number {
  return outlineOf(json).depth;
}

const MAX_SHOWN_CHARS = 64;

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new ForeignJsonError("not_utf8", "is not UTF-8", { cause });
  }
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.replaceAll(/\s+/g, " ") : String(cause);
    throw new ForeignJsonError("not_json", `is not JSON (${reason})`, { cause });
  }
}

/**
 * Parses JSON that ptc wrote or has bounded, with all digits of its whole numbers.
 *
 * @throws SyntaxError for a text that is not JSON.
 */
export function readJson(text: string): unknown {
  return BIG_INTEGER.test(text) ? parseExactly(text, parseJson) : parseJson(text);
}

/** Matches a text that may contain a big whole number. */
const BIG_INTEGER = /\d{16}/;

/** Stands before the digits of a big whole number while its text is parsed. It is a private-use character of Unicode. */
const MARK = "\ue36f";

/** Parses a text with big whole numbers. */
function parseExactly(text: string, parsePlainly: (text: string) => unknown): unknown {
  // An escape could write the mark.
  if (text.includes(MARK) || /\\u[eE]/.test(text)) return parseWithSources(text, parsePlainly);
  // A reviver looks at the source of each value, which takes several times as long.
  const quoted = quoteBigIntegers(text, MARK);
  if (quoted === text) return parsePlainly(text);
  let value: unknown;
  try {
    value = parseJson(quoted);
  } catch {
    // The error is to name the text that was given.
    return parsePlainly(text);
  }
  return mapScalars(value, (each) =>
    typeof each === "string" && each.startsWith(MARK) ? BigInt(each.slice(MARK.length)) : each,
  );
}

function parseWithSources(text: string, parsePlainly: (text: string) => unknown): unknown {
  const exact = (_: string, value: unknown, { source = "" }: { source?: string } = {}) =>
    typeof value === "number" && isBigIntegerText(source) ? BigInt(source) : value;
  try {
    return parseJson(text, exact);
  } catch {
    return parsePlainly(text);
  }
}

/** The largest finite number has 309 digits. Longer numbers are left to those that refuse them. */
const MAX_INTEGER_CHARS = 310;

/**
 * Turns the big whole numbers of a JSON text into strings: `mark` and all digits. A text that is not JSON stays one that is not.
 */
export function quoteBigIntegers(text: string, mark = ""): string {
  let quoted = "";
  let copied = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i);
      continue;
    }
    if (code < ZERO || code > NINE) continue;
    const start = text.charCodeAt(i - 1) === MINUS ? i - 1 : i;
    let isInteger = code !== ZERO;
    const first = i;
    let next = text.charCodeAt(i + 1);
    for (; next < NUMBER_PARTS.length && NUMBER_PARTS[next] !== 0; next = text.charCodeAt(++i + 1))
      if (next < ZERO || next > NINE) isInteger = false;
    if (!isInteger || i - first < EXACT_DIGITS) continue;
    const written = text.slice(start, i + 1);
    if (written.length > MAX_INTEGER_CHARS || !isBigInteger(written) || isMemberName(text, i + 1)) continue;
    quoted += `${text.slice(copied, start)}"${mark}${written}"`;
    copied = i + 1;
  }
  return copied === 0 ? text : quoted + text.slice(copied);
}

/** Whether a colon follows: a number is no name of a member, and must not become one. */
function isMemberName(text: string, start: number): boolean {
  let at = start;
  while (text.charCodeAt(at) <= SPACE) at++;
  return text.charCodeAt(at) === COLON;
}

/** Whether digits are a whole number that JavaScript's numbers do not carry with certainty, and that other readers do. */
function isBigInteger(digits: string): boolean {
  const value = Number(digits);
  return !Number.isSafeInteger(value) && Number.isFinite(value);
}

/** Whether a text is a whole number beyond 2^53 as JSON writes it: the form in which a TypeScript program has one. */
export function isBigIntegerText(text: string): boolean {
  return text.length <= MAX_INTEGER_CHARS && /^-?[1-9]\d{15,}$/.test(text) && isBigInteger(text);
}

/**
 * Serializes a value that may have come from elsewhere, with all digits of its whole numbers. For a value without a `bigint` it is
 * `JSON.stringify`, and as fast.
 */
export function writeJson(value: unknown, indent?: number | string): string {
  try {
    return stringify(value, undefined, indent);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return stringify(value, (_, each) => (typeof each === "bigint" ? rawNumber(each) : each), indent);
  }
}

/** Replaces each `bigint` by what makes the `JSON.stringify` of others, such as the MCP SDK, write all digits. Copies only then. */
export function withRawNumbers<Value>(value: Value): Value {
  return hasBigInteger(value) ? (copyScalars(value, rawNumber) as Value) : value;
}

/**
 * Replaces each `bigint` by its digits as text, for JavaScript that somebody else wrote: it can print, compare and pass on a text, and
 * `JSON.stringify` takes it. Copies only then.
 */
export function withTextNumbers<Value>(value: Value): Value {
  return hasBigInteger(value) ? (copyScalars(value, String) as Value) : value;
}

function rawNumber(value: bigint): unknown {
  return rawJSON(String(value));
}

/** Whether a value is or holds a `bigint`. */
export function hasBigInteger(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "bigint";
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (hasBigInteger(value[i])) return true;
    return false;
  }
  for (const name in value) if (hasBigInteger((value as Record<string, unknown>)[name])) return true;
  return false;
}

/** A copy of a value, with `replace` applied to each `bigint` in it. */
function copyScalars(value: unknown, replace: (value: bigint) => unknown): unknown {
  if (typeof value === "bigint") return replace(value);
  if (typeof value !== "object" || value === null || !hasBigInteger(value)) return value;
  if (Array.isArray(value)) return value.map((each) => copyScalars(each, replace));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyScalars(each, replace)]));
}

/** Applies a function to what is neither array nor object in a parsed value, in place. */
function mapScalars(value: unknown, map: (value: unknown) => unknown): unknown {
  if (typeof value !== "object" || value === null) return map(value);
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    const mapped = mapScalars(member, map);
    if (mapped === member) continue;
    if (name === "__proto__")
      Object.defineProperty(value, name, {
        value: mapped,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    else (value as Record<string, unknown>)[name] = mapped;
  }
  return value;
}

/** Facts about a JSON text that need no parsing. They mean nothing for a text that is not JSON. */
interface JsonOutline {
  depth: number;
  /** All values, including those in arrays and objects. */
  values: number;
  /** Members of all objects, including those with a repeated name. */
  members: number;
  /** The most members of one object. */
  mostMembers: number;
  /** Whether a number has an exponent or so many digits that it may be infinite. */
  hasLongNumbers: boolean;
  /** Whether a number is longer than any that is read. */
  hasEndlessNumber: boolean;
  /** Whether a whole number has so many digits that it may be beyond 2^53. */
  hasBigIntegers: boolean;
  /** Whether there is no white space, no number but short integers, and no name that begins with a digit. */
  isCompact: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/** Integers of up to this many digits are exact, and are written without an exponent. */
const EXACT_DIGITS = 15;

/** V8 takes long for a number of very many digits, and nobody writes one. */
const MAX_NUMBER_CHARS = 10_000;

/** The largest finite number has 309 digits. */
const MANY_DIGITS = 300;

const EXPONENT = 2;
/** The characters that continue a number, by character code. */
const NUMBER_PARTS = Uint8Array.from({ length: 0x7f }, (_, code) => {
  const character = String.fromCharCode(code);
  return "eE".includes(character) ? EXPONENT : "0123456789.+-".includes(character) ? 1 : 0;
});

/** @param limits what ends the outline as soon as it is known to be exceeded. */
function outlineOf(
  text: string,
  limits = {
    maxDepth: Number.POSITIVE_INFINITY,
    maxValues: Number.POSITIVE_INFINITY,
    maxMembers: Number.POSITIVE_INFINITY,
  },
): JsonOutline {
  let depth = 0;
  /** Members so far, by depth, of the objects that are open. */
  const open: number[] = [0];
  let mostMembers = 0;
  let deepest = 0;
  let values = 1;
  let members = 0;
  let hasLongNumbers = false;
  let hasBigIntegers = false;
  let hasEndlessNumber = false;
  let isCompact = true;
  let stringStart = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      stringStart = i;
      i = endOfString(text, i);
    } else if (code === COMMA) {
      if (++values > limits.maxValues) break;
    } else if (code === COLON) {
      members++;
      const own = (open[depth] ?? 0) + 1;
      open[depth] = own;
      if (own > mostMembers) {
        mostMembers = own;
        if (own > limits.maxMembers) break;
      }
      const first = text.charCodeAt(stringStart + 1);
      if (first >= ZERO && first <= NINE) isCompact = false;
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      // Counts the first value of the container. A comma precedes each further one.
      if (!isEmptyFrom(text, i + 1)) values++;
      if (++depth > deepest) deepest = depth;
      open[depth] = 0;
      if (depth > limits.maxDepth) break;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      depth--;
    } else if (code >= ZERO && code <= NINE) {
      const start = i;
      let isInteger = true;
      let next = text.charCodeAt(i + 1);
      for (; next < NUMBER_PARTS.length && NUMBER_PARTS[next] !== 0; next = text.charCodeAt(++i + 1)) {
        if (NUMBER_PARTS[next] === EXPONENT) hasLongNumbers = true;
        if (next < ZERO || next > NINE) isInteger = false;
        if (i - start > MAX_NUMBER_CHARS) break;
      }
      if (i - start > MAX_NUMBER_CHARS) {
        hasEndlessNumber = true;
        break;
      }
      if (!isInteger) isCompact = false;
      else if (i - start >= EXACT_DIGITS) hasBigIntegers = true;
      if (i - start >= MANY_DIGITS) hasLongNumbers = true;
      if (i - start >= EXACT_DIGITS || (code === ZERO && text.charCodeAt(start - 1) === MINUS))
        isCompact = false;
    } else if (code <= SPACE) {
      isCompact = false;
    }
  }
  return {
    depth: deepest,
    values,
    members,
    mostMembers,
    hasLongNumbers,
    hasBigIntegers,
    hasEndlessNumber,
    isCompact,
  };
}

/** Whether only white space precedes the closing bracket. */
function isEmptyFrom(text: string, start: number): boolean {
  const code = text.charCodeAt(skipJsonSpace(text, start));
  return code === CLOSE_BRACKET || code === CLOSE_BRACE;
}

/** Returns the index of the first character that is not white space, or the length of the text. */
export function skipJsonSpace(text: string, start: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return Math.min(at, text.length);
    if (at - start < MANY_SPACES) continue;
    NOT_SPACE.lastIndex = at;
    return NOT_SPACE.exec(text)?.index ?? text.length;
  }
}

const MANY_SPACES = 64;
const NOT_SPACE = /[^ \n\r\t]/g;

/** How many characters are looked at one by one after an escape, before the next quote is searched. */
const ESCAPES_CHARS = 4_096;

/**
 * Returns the index of the quote that ends the string at `start`, or the length of the text when no quote ends it.
 *
 * @param limit beyond which it does not matter where the string ends: what is returned is beyond it then.
 */
export function endOfString(text: string, start: number, limit = text.length): number {
  let from = start + 1;
  while (from <= limit) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return text.length;
    if (quote === from || text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
    for (const until = quote + ESCAPES_CHARS; from <= until; from++) {
      const code = text.charCodeAt(from);
      if (code === QUOTE) return from;
      if (code === BACKSLASH) from++;
      else if (from >= text.length) return text.length;
    }
  }
  return from;
}

/**
 * Whether each number of a JSON text is written as it is written again: `3.10`, `1.0`, `-0` and `1e400` are not. Says nothing about
 * a text that is not JSON.
 */
export function numbersComeBack(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i);
      continue;
    }
    if (code < ZERO || code > NINE) continue;
    const start = text.charCodeAt(i - 1) === MINUS ? i - 1 : i;
    while (NUMBER_PARTS[text.charCodeAt(i + 1)]) i++;
    const written = text.slice(start, i + 1);
    if (String(Number(written)) !== written && !isBigIntegerText(written)) return false;
  }
  return true;
}

/** Counts the members of all objects in a value. @throws ForeignJsonError for a non-finite number, if `checkNumbers` is set. */
function countMembers(value: unknown, checkNumbers: boolean): number {
  if (typeof value === "number") {
    if (checkNumbers && !Number.isFinite(value))
      throw new ForeignJsonError("non_finite", "holds a number beyond all that JSON's readers agree on");
    return 0;
  }
  if (typeof value !== "object" || value === null) return 0;
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === "object" || checkNumbers) members += countMembers(item, checkNumbers);
    }
    return members;
  }
  const names = Object.keys(value);
  members += names.length;
  for (const name of names) {
    const item = (value as Record<string, unknown>)[name];
    if (typeof item === "object" || checkNumbers) members += countMembers(item, checkNumbers);
  }
  return members;
}

/** Finds the first repeated name in an object of a JSON text that has one. */
function duplicateKeyIn(text: string): string {
  const open: (Set<string> | undefined)[] = [];
  let last = "";
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '"') {
      const end = endOfString(text, i);
      last = text.slice(i, end + 1);
      i = end;
    } else if (character === "{") open.push(new Set());
    else if (character === "[") open.push(undefined);
    else if (character === "}" || character === "]") open.pop();
    else if (character === ":") {
      const name = parseJson(last) as string;
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return "";
}

/** Whether a value is a JSON object: neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Characters that JSON.stringify does not escape and that break or disguise a line: line ends other than LF, control
 * characters, characters that change the writing direction, and invisible ones. Joiners stay, because emoji need them.
 */
const UNSEEN = /(?![\u200c\u200d])[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Serializes a value on one line, by any definition of a line end, without characters that control a terminal. */
export function jsonLine(value: unknown): string {
  return (writeJson(value) ?? "null").replace(UNSEEN, escapeUnits);
}

function escapeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, "0")}`,
  ).join("");
}

/** Counts the values in a parsed JSON value, including the value itself and those in arrays and objects. */
export function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  let values = 1;
  for (const part of Object.values(value)) values += countValues(part);
  return values;
}

/** Whether every surrogate in a text is paired. UTF-8 cannot encode a lone one. */
export function isWellFormed(text: string): boolean {
  // Node.js 20 has this method, but TypeScript's ES2023 library does not declare it.
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}
