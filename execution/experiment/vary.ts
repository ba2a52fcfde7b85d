import { createHash } from "node:crypto";
import { readJson, writeJson } from "../../base/json.ts";

/**
 * Replaces the values in data by others that a stranger might have written. Shapes stay: lists keep their length, texts keep their
 * length and punctuation, dates stay dates, and numbers keep their count of digits. A word or number gets the same replacement
 * everywhere, so that references still match. Words that the program itself contains stay, because it may search for them.
 */
export interface Variation {
  /** Each seed gives other values. */
  readonly seed: number;
  /** Words, in lower case, that stay as they are. */
  readonly kept: ReadonlySet<string>;
  /** Whether booleans are negated. */
  readonly turnsTruth: boolean;
}

const MAX_DEPTH = 1_000;
const PIECES = /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?|\p{L}[\p{L}\p{M}]*|\d+/gu;

/** A JSON value of the same shape with other values. */
export function vary(value: unknown, variation: Variation, depth = 0): unknown {
  if (depth > MAX_DEPTH) return value;
  if (typeof value === "string") return varyText(value, variation);
  if (typeof value === "number") return varyNumber(value, variation);
  if (typeof value === "bigint")
    return BigInt(String(value).replace(/\d+/, (digits) => varyDigits(digits, variation)));
  if (typeof value === "boolean") return variation.turnsTruth ? !value : value;
  if (Array.isArray(value)) return value.map((each) => vary(each, variation, depth + 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      isMemberName(name) ? name : varyText(name, variation),
      vary(member, variation, depth + 1),
    ]),
  );
}

/** Whether a member's name belongs to a server's schema. Other names are data. */
function isMemberName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z_-]*$/.test(name);
}

function varyText(text: string, variation: Variation): string {
  const parsed = parseObject(text);
  if (parsed !== undefined) return writeJson(vary(parsed, variation));
  return text.replace(PIECES, (piece) => {
    if (/^\d{4}-/.test(piece)) return varyDate(piece, variation);
    if (/^\d/.test(piece)) return varyDigits(piece, variation);
    return variation.kept.has(piece.toLowerCase()) ? piece : varyWord(piece, variation);
  });
}

/** Parses a text that holds JSON, which servers without structured content send. */
function parseObject(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return readJson(text);
  } catch {
    return undefined;
  }
}

function varyWord(word: string, { seed }: Variation): string {
  const bytes = bytesOf(seed, word.toLowerCase());
  let index = 0;
  return word.replace(/\p{L}/gu, (letter) => {
    const byte = bytes[index++ % bytes.length] ?? 0;
    const first = /[a-z]/.test(letter) ? 97 : /[A-Z]/.test(letter) ? 65 : undefined;
    // A letter of another alphabet becomes a neighbouring letter.
    if (first === undefined) return String.fromCodePoint((letter.codePointAt(0) ?? 0) ^ 1);
    return String.fromCharCode(first + ((letter.charCodeAt(0) - first + 1 + (byte % 25)) % 26));
  });
}

function varyDigits(digits: string, { seed }: Variation): string {
  const bytes = bytesOf(seed, digits);
  return digits.replace(/\d/g, (digit, index: number) => {
    const byte = bytes[index % bytes.length] ?? 0;
    if (index === 0 && digits.length > 1 && digit !== "0")
      return String(((Number(digit) - 1 + 1 + (byte % 8)) % 9) + 1);
    return String((Number(digit) + 1 + (byte % 9)) % 10);
  });
}

/** Replaces the day and the minute, so that the result is still a date. */
function varyDate(date: string, { seed }: Variation): string {
  const [day = 0, minute = 0] = bytesOf(seed, date);
  const other = (old: string, most: number, by: number, from: number) =>
    String(((Number(old) - from + 1 + (by % (most - 1))) % most) + from).padStart(2, "0");
  return date
    .replace(/^(\d{4}-\d{2}-)(\d{2})/, (_, before: string, old: string) => before + other(old, 28, day, 1))
    .replace(/:(\d{2})/, (_, old: string) => `:${other(old, 60, minute, 0)}`);
}

function varyNumber(value: number, variation: Variation): number {
  if (!Number.isFinite(value)) return value;
  const varied = Number(String(value).replace(/\d+/g, (digits) => varyDigits(digits, variation)));
  return Number.isFinite(varied) && varied !== value ? varied : value + variation.seed;
}

function bytesOf(seed: number, text: string): Buffer {
  return createHash("sha256").update(`${seed} ${text}`).digest();
}

/** Matches quoted texts and regular expressions. */
const QUOTED = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|\/(?:[^/\\\n]|\\.)+\//g;

/** The words in a program's quoted texts and regular expressions, in lower case. */
export function wordsOf(code: string): Set<string> {
  const words = new Set<string>();
  for (const [quoted] of code.matchAll(QUOTED))
    for (const [word] of quoted.matchAll(/\p{L}[\p{L}\p{M}]*/gu)) words.add(word.toLowerCase());
  return words;
}
