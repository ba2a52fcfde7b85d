import type { Excerpt, PiiKind, PiiRange, PiiSettings, Recogniser } from "./pii-kinds.ts";
import { findEmails } from "./recognisers/emails.ts";
import { findIbans } from "./recognisers/ibans.ts";
import { findIpAddresses } from "./recognisers/ip-addresses.ts";
import { nationalIdsOf } from "./recognisers/national-ids.ts";
import { findPaymentCards } from "./recognisers/payment-cards.ts";
import { phoneNumbersOf } from "./recognisers/phone-numbers.ts";

/** The kinds, most distinctive form first. If two ranges overlap, the first kind counts. */
const BY_CERTAINTY: readonly PiiKind[] = ["email", "iban", "ip", "card", "national_id", "phone"];

/** The shortest text that can be personal data. */
const MIN_CHARS = 6;

/** Finds personal data of the configured kinds. */
export class PiiFinder {
  readonly #recognisers: readonly Recogniser[];

  constructor(settings: PiiSettings) {
    this.#recognisers = BY_CERTAINTY.filter((kind) => settings.kinds.includes(kind)).map((kind) =>
      recogniserOf(kind, settings.countries),
    );
  }

  /** Finds all ranges, in order and without overlap. */
  find(excerpt: Excerpt): PiiRange[] {
    return united(
      readingsOf(excerpt).flatMap((reading) => this.#findIn(reading).map((range) => reading.inText(range))),
    );
  }

  #findIn(excerpt: Excerpt): PiiRange[] {
    if (excerpt.text.length - excerpt.from < MIN_CHARS || !MAY_HOLD.test(excerpt.text)) return [];
    const found: PiiRange[] = [];
    for (const recognise of this.#recognisers) {
      const taken = found.length;
      for (const range of recognise(excerpt)) if (!overlaps(found, taken, range)) found.push(range);
      found.sort((a, b) => a.start - b.start);
    }
    return found;
  }
}

/** Every kind contains a digit, an `@`, an escape of one, or the colons of an address. */
const MAY_HOLD = /[@:\d]/;

function recogniserOf(kind: PiiKind, countries: readonly string[]): Recogniser {
  switch (kind) {
    case "email":
      return findEmails;
    case "iban":
      return findIbans;
    case "ip":
      return findIpAddresses;
    case "card":
      return findPaymentCards;
    case "national_id":
      return nationalIdsOf(countries);
    case "phone":
      return phoneNumbersOf(countries);
  }
}

/** Unites overlapping ranges. The longest one gives the kind. */
function united(ranges: readonly PiiRange[]): PiiRange[] {
  const whole: PiiRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = whole.at(-1);
    if (last === undefined || last.end <= range.start) {
      whole.push({ ...range });
      continue;
    }
    if (range.end - range.start > last.end - last.start) last.kind = range.kind;
    last.end = Math.max(last.end, range.end);
  }
  return whole;
}

/** Whether one of the first `count` ranges, which are sorted, overlaps a given range. */
function overlaps(sorted: readonly PiiRange[], count: number, { start, end }: PiiRange): boolean {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as PiiRange).end <= start) low = middle + 1;
    else high = middle;
  }
  const next = sorted[low];
  return low < count && next !== undefined && next.start < end;
}

/**
 * Recognisers know only ASCII digits and signs. A text can use equivalents: digits of another script, fullwidth letters,
 * typographic spaces and hyphens, and invisible characters inside a number. A reading of a text has plain characters instead.
 * It knows the position of each character in the text, so that exactly the original range is replaced.
 */
interface Reading extends Excerpt {
  /** The part of the text that a range of the reading represents. It excludes characters that were dropped at its ends. */
  inText(range: PiiRange): PiiRange;
}

/** Characters that are invisible or have a plain equivalent. Most texts have none. */
const ODD = /[^\0-\x7f]|\\u/;
const WRITTEN_OTHERWISE =
  /[\p{DI}\p{Zs}\u2012\u2212\u3002\ufe50-\ufe6b\uff01-\uff61\u{1d400}-\u{1d7ff}]|[^\P{Nd}0-9]|\\u[0-9a-fA-F]{4}/gu;
const UNSEEN = /^\p{DI}$/u;
const DIGIT = /^\p{Nd}$/u;

/** The distinct readings of a text: unchanged, with plain characters, and also without invisible ones. */
function readingsOf(excerpt: Excerpt): Reading[] {
  const asItIs = { ...excerpt, inText: (range: PiiRange) => range };
  if (!ODD.test(excerpt.text)) return [asItIs];
  const plain = read(excerpt, false);
  const seen = read(excerpt, true);
  const isOther = (reading: Reading, index: number, all: readonly Reading[]) =>
    all.findIndex(({ text }) => text === reading.text) === index;
  return [asItIs, plain, seen].filter(isOther);
}

function read({ text, from, name }: Excerpt, isUnseenLeftOut: boolean): Reading {
  const pieces: string[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  const keep = (to: number) => {
    pieces.push(text.slice(at, to));
    for (; at < to; at++) {
      starts.push(at);
      ends.push(at + 1);
    }
  };
  for (const { 0: written, index } of text.matchAll(WRITTEN_OTHERWISE)) {
    const character =
      written.length === 6 ? String.fromCharCode(Number.parseInt(written.slice(2), 16)) : written;
    const plain = UNSEEN.test(character) ? (isUnseenLeftOut ? "" : written) : plainOf(character);
    if (plain === written || plain.length > 1 || (plain === character && written.length === 6)) continue;
    keep(index);
    at = index + written.length;
    pieces.push(plain);
    if (plain === "") continue;
    starts.push(index);
    ends.push(at);
  }
  keep(text.length);
  const before = starts.findIndex((start) => start >= from);
  return {
    text: pieces.join(""),
    from: before < 0 ? starts.length : before,
    name,
    inText: ({ start, end, kind }) => ({ start: starts[start] ?? 0, end: ends[end - 1] ?? 0, kind }),
  };
}

function plainOf(character: string): string {
  if (DIGIT.test(character)) return String(digitOf(character));
  // Recognisers handle this character themselves.
  if (character === "\u00a0") return character;
  if (/^\p{Zs}$/u.test(character)) return " ";
  if (character === "\u2012" || character === "\u2212") return "-";
  if (character === "\u3002" || character === "\uff61") return ".";
  return character.normalize("NFKC");
}

/** The value of a decimal digit. Unicode encodes the digits of a script in a row, from zero to nine. */
function digitOf(character: string): number {
  const point = character.codePointAt(0) ?? 0;
  let first = point;
  while (DIGIT.test(String.fromCodePoint(first - 1))) first--;
  return (point - first) % 10;
}
