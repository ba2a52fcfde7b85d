import { endOfString } from "./json.ts";

/**
 * Finds where the parts of a JSON text begin and end, without parsing them. A malformed part does not affect the others, because
 * the inside of a part is not checked. Takes time linear in the length of the text.
 */

/** The position of a value, which is `text.slice(start, end)`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Member extends Span {
  readonly name: string;
}

const MAX_NAME_CHARS = 1_000;

/** Returns the members of an object in order, or `undefined` for any other text and for more than `maxMembers`. */
export function membersIn(text: string, maxMembers: number): Member[] | undefined {
  const members: Member[] = [];
  let at = skipSpace(text, 0);
  if (text[at] !== "{") return undefined;
  at = skipSpace(text, at + 1);
  if (text[at] === "}") return isAtEnd(text, at + 1) ? members : undefined;
  for (;;) {
    if (text[at] !== '"' || members.length === maxMembers) return undefined;
    const nameEnd = endOfString(text, at) + 1;
    const name = parseText(text, { start: at, end: nameEnd }, MAX_NAME_CHARS);
    if (name === undefined) return undefined;
    at = skipSpace(text, nameEnd);
    if (text[at] !== ":") return undefined;
    const start = skipSpace(text, at + 1);
    const end = endOfValue(text, start);
    if (end === start) return undefined;
    members.push({ name, start, end });
    at = skipSpace(text, end);
    if (text[at] === "}") return isAtEnd(text, at + 1) ? members : undefined;
    if (text[at] !== ",") return undefined;
    at = skipSpace(text, at + 1);
  }
}

/** Returns the items of an array in order, or `undefined` for any other text and for more than `maxItems`. */
export function itemsIn(text: string, maxItems: number): Span[] | undefined {
  const items: Span[] = [];
  let at = skipSpace(text, 0);
  if (text[at] !== "[") return undefined;
  at = skipSpace(text, at + 1);
  if (text[at] === "]") return isAtEnd(text, at + 1) ? items : undefined;
  for (;;) {
    if (items.length === maxItems) return undefined;
    const end = endOfValue(text, at);
    if (end === at) return undefined;
    items.push({ start: at, end });
    at = skipSpace(text, end);
    if (text[at] === "]") return isAtEnd(text, at + 1) ? items : undefined;
    if (text[at] !== ",") return undefined;
    at = skipSpace(text, at + 1);
  }
}

/** Parses the string in a span. Returns `undefined` for any other value, and when the span is longer than `maxChars`. */
export function parseText(text: string, { start, end }: Span, maxChars: number): string | undefined {
  if (text[start] !== '"' || end - start > maxChars) return undefined;
  const written = text.slice(start, end);
  if (PLAIN_STRING.test(written)) return written.slice(1, -1);
  try {
    const value: unknown = JSON.parse(written);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A string without escapes, as most names are. */
const PLAIN_STRING = /^"[\w/-]*"$/;

const QUOTE = 0x22;
const COMMA = 0x2c;

/** Kinds of characters: white space, and the brackets that open and close a container. */
const SPACE = 1;
const OPEN = 2;
const CLOSE = 3;
const KINDS = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (" \t\r\n".includes(character)) return SPACE;
  if ("[{".includes(character)) return OPEN;
  return "]}".includes(character) ? CLOSE : 0;
});

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < KINDS.length ? (KINDS[code] ?? 0) : 0;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && kindAt(text, at) === SPACE) at++;
  return at;
}

function isAtEnd(text: string, at: number): boolean {
  return skipSpace(text, at) === text.length;
}

/** Returns the index after the value that begins at `start`, or `start` itself when no value begins there. */
function endOfValue(text: string, start: number): number {
  const first = kindAt(text, start);
  if (text.charCodeAt(start) === QUOTE) return Math.min(endOfString(text, start) + 1, text.length);
  if (first !== OPEN) {
    let at = start;
    while (at < text.length && kindAt(text, at) === 0 && text.charCodeAt(at) !== COMMA) at++;
    return at;
  }
  for (let at = start, depth = 0; at < text.length; at++) {
    if (text.charCodeAt(at) === QUOTE) at = endOfString(text, at);
    else if (kindAt(text, at) === OPEN) depth++;
    else if (kindAt(text, at) === CLOSE && --depth === 0) return at + 1;
  }
  return text.length;
}
