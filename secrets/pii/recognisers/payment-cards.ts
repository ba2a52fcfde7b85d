import cardTypes from "credit-card-type";
import type { Excerpt, PiiRange } from "../pii-kinds.ts";
import { numberRuns, separatorOf, type WrittenNumber, writtenNumber } from "./number-runs.ts";

/** The lengths of the groups in which card numbers are printed. */
const PRINTED = ["4,4,4,4", "4,4,4,4,3", "4,6,5", "4,6,4"];

/** Matches the sign between groups of digits. An underscore counts only here: elsewhere it joins the parts of a name. */
const SEPARATOR = /^[ \u00a0.\-_\u2010\u2011\u2013]$/;

const MIN_DIGITS = 14;
const MAX_DIGITS = 19;

/** Maestro shares its prefixes with many other numbers, so its shorter numbers could be anything. */
const MIN_MAESTRO_DIGITS = 16;

/** The brands: the ranges of their prefixes, and the lengths of their numbers. */
const BRANDS = Object.values(cardTypes.types).map((type) => {
  const { patterns, lengths } = cardTypes.getTypeInfo(type);
  const least = type === "maestro" ? MIN_MAESTRO_DIGITS : MIN_DIGITS;
  return {
    prefixes: patterns.map((pattern) => (Array.isArray(pattern) ? pattern : [pattern, pattern])),
    lengths: new Set(lengths.filter((length) => length >= least)),
  };
});

/**
 * Finds numbers of payment cards (ISO/IEC 7812) by the prefix and length of a brand and the Luhn check digit, written together
 * or in groups as on a card.
 */
export function findPaymentCards({ text, from }: Excerpt): PiiRange[] {
  const found: PiiRange[] = [];
  for (const run of numberRuns(text, from, SEPARATOR)) {
    for (let first = 0; first < run.groups.length; ) {
      const number = [1, 5, 4, 3]
        .filter((count) => isLongEnough(run.groups.slice(first, first + count)))
        .map((count) => writtenNumber(text, run, first, count))
        .find((each) => each !== undefined && isCard(text, each));
      const [begin] = number?.groups ?? [];
      if (begin !== undefined && number !== undefined)
        found.push({ start: begin.start, end: number.end, kind: "card" });
      first += number?.groups.length ?? 1;
    }
  }
  return found;
}

function isLongEnough(groups: WrittenNumber["groups"]): boolean {
  const length = groups.reduce((sum, { digits }) => sum + digits.length, 0);
  return length >= MIN_DIGITS && length <= MAX_DIGITS;
}

function isCard(text: string, { digits, groups }: WrittenNumber): boolean {
  if (groups.length > 1) {
    if (separatorOf(text, groups) === undefined) return false;
    if (!PRINTED.includes(groups.map((group) => group.digits.length).join(","))) return false;
  }
  return (
    passesLuhn(digits) && BRANDS.some((brand) => brand.lengths.has(digits.length) && begins(digits, brand))
  );
}

function begins(digits: string, { prefixes }: (typeof BRANDS)[number]): boolean {
  return prefixes.some(([least = 0, most = 0]) => {
    const prefix = Number(digits.slice(0, String(least).length));
    return prefix >= least && prefix <= most;
  });
}

/** Checks the Luhn digit (ISO/IEC 7812-1, annex B). */
function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]);
    const value = at % 2 === 0 ? digit : digit * 2;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
