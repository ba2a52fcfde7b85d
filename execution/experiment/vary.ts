import { createHash } from "node:crypto";

/**
 * The same data with other values: what a stranger might have written in its place. Shapes stay: lists are as long, texts as long and
 * punctuated in the same way, dates are dates, numbers have as many digits. The same word or number becomes the same other one wherever
 * it stands, so that what belongs together still does. Words that the program itself has stay, since it may look for them.
 */
export interface Variation {
  /** Other values for another seed. */
  readonly seed: number;
  /** Words, in lower case, that stay as they are. */
  readonly kept: ReadonlySet<string>;
  /** Whether truth values are turned over. */
  readonly turnsTruth: boolean;
}

const MAX_DEPTH = 1_000;
const PIECES = /\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?|\p{L}[\p{L}\p{M}]*|\d+/gu;

/** A JSON value with other values in it. */
export function vary(value: unknown, variation: Variation, depth = 0): unknown {
  if (depth > MAX_DEPTH) return value;
  if (typeof value === "string") return varyText(value, variation);
  if (typeof value === "number") return varyNumber(value, variation);
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

/** Names of members are a server's words for what it says, unless they are data. */
function isMemberName(name: string): boolean {
  return /^[A-Za-z_][A-Za-z_-]*$/.test(name);
}

function varyText(text: string, variation: Variation): string {
  const parsed = parseObject(text);
  if (parsed !== undefined) return JSON.stringify(vary(parsed, variation));
  return text.replace(PIECES, (piece) => {
    if (/^\d{4}-/.test(piece)) return varyDate(piece, variation);
    if (/^\d/.test(piece)) return varyDigits(piece, variation);
    return variation.kept.has(piece.toLowerCase()) ? piece : varyWord(piece, variation);
  });
}

/** Servers without structured content write JSON as a text. */
function parseObject(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
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
    // Another letter of an alphabet that is not known here is its neighbour.
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

/** A date stays one: its day and its minute are others. */
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

/** Texts in quotes, and regular expressions. */
const QUOTED = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|\/(?:[^/\\\n]|\\.)+\//g;

/** The words that stand in quotes in a program. */
export function wordsOf(code: string): Set<string> {
  const words = new Set<string>();
  for (const [quoted] of code.matchAll(QUOTED))
    for (const [word] of quoted.matchAll(/\p{L}[\p{L}\p{M}]*/gu)) words.add(word.toLowerCase());
  return words;
}
