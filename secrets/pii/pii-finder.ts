import type { Excerpt, PiiKind, PiiRange, PiiSettings, Recogniser } from "./pii-kinds.ts";
import { readingsOf } from "./readings.ts";
import { findEmails } from "./recognisers/emails.ts";
import { findIbans } from "./recognisers/ibans.ts";
import { findIpAddresses } from "./recognisers/ip-addresses.ts";
import { nationalIdsOf } from "./recognisers/national-ids.ts";
import { findPaymentCards } from "./recognisers/payment-cards.ts";
import { phoneNumbersOf } from "./recognisers/phone-numbers.ts";

/** The kinds by how much their form tells. Where two overlap, the first counts. */
const BY_CERTAINTY: readonly PiiKind[] = ["email", "iban", "ip", "card", "national_id", "phone"];

/** The shortest text that can be personal data. */
const MIN_CHARS = 6;

/** Finds personal data of the kinds that are set. */
export class PiiFinder {
  readonly #recognisers: readonly Recogniser[];

  constructor(settings: PiiSettings) {
    this.#recognisers = BY_CERTAINTY.filter((kind) => settings.kinds.includes(kind)).map((kind) =>
      recogniserOf(kind, settings.countries),
    );
  }

  /** Every range, in order and without overlap. */
  find(excerpt: Excerpt): PiiRange[] {
    const [asItIs, ...others] = readingsOf(excerpt).map((reading) =>
      this.#findIn(reading).map((range) => reading.inText(range)),
    );
    return others.length === 0 ? (asItIs ?? []) : united([...(asItIs ?? []), ...others.flat()]);
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

/** All kinds have a digit, an `@` or an escape of one in them, or the colons of an address. */
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

/** Ranges that overlap as one, of the kind of the longest. */
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

/** Whether one of the first ranges, which are sorted, overlaps another. */
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
