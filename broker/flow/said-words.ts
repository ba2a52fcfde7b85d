import type { Leaf } from "./folded-text.ts";

/**
 * What a user's words mean as values: numbers, dates, times, hosts and URLs, however people write them. A value is compared as what it
 * is, and as a whole: `1500` is what "$1,500" means, and neither 500 nor -1500; `https://www.example.com` is what "www.example.com"
 * means, and no other page of that host. Nothing is decoded.
 */

const MONTHS = [
  ...["january", "february", "march", "april", "may", "june"],
  ...["july", "august", "september", "october", "november", "december"],
];
const MONTH = `(?:${MONTHS.map((name) => (name.length > 3 ? `${name.slice(0, 3)}(?:${name === "september" ? "t(?:ember)?" : name.slice(3)})?` : name)).join("|")})`;
const DAY = "(\\d{1,2})(?:st|nd|rd|th)?";
const YEAR = "(?:,?\\s+(\\d{4})\\b)?";
const NAMED_FIRST = new RegExp(`\\b(${MONTH})\\.?\\s+${DAY}\\b${YEAR}`, "giu");
const DAY_FIRST = new RegExp(`\\b${DAY}\\s+(?:of\\s+)?(${MONTH})\\b\\.?${YEAR}`, "giu");
const ISO = /(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?!\d)/g;
const SLASHED = /(?<![\d./-])(\d{1,2})([./])(\d{1,2})\2(\d{4})(?![\d/])/g;
const TIME =
  /(?<![\d:.])(\d{1,2})(?::(\d{2}))?\s?([ap])\.?m\b\.?|(?<![\d:.])(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\d:])/gi;
const ORDINAL = /\b\d+(?:st|nd|rd|th)\b/gi;

const NUMBER = /\d(?:[\d,.'\u2019\u00a0\u202f]*\d)?/g;
const UNITS: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, mn: 1e6, bn: 1e9 };
const MEASURES =
  /^(?:eur|usd|gbp|chf|jpy|kg|g|km|cm|mm|l|h|hrs?|hours?|min|mins|s|sec|days?|nights?|gb|mb|kb|tb|x|%|\u20ac|\$|\u00a3)$/i;
const CURRENCY = /[$\u20ac\u00a3\u00a5]/;
const NUMBER_WORDS = [
  ...["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"],
  "twelve",
];
const NUMBER_WORD = new RegExp(
  `(?<![\\p{L}\\p{N}_-])(?:${NUMBER_WORDS.join("|")})(?![\\p{L}\\p{N}_-])`,
  "giu",
);
const MULTIPLES = /^\s(thousand|million|billion)\b/i;
const MULTIPLE: Readonly<Record<string, number>> = { thousand: 1e3, million: 1e6, billion: 1e9 };

const LINK = /\bhttps?:\/\/[^\s<>"'`]+/gi;
const HOST = /(?<![\w@/.:=-])((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,24})(\/[^\s<>"'`]*)?(?![\w@-])/gi;

/** A number as text that has fewer digits may be anything: an id, a page, a day. */
const MIN_TELLING_DIGITS = 5;

interface SaidNumber {
  readonly value: number;
  /** The words beside it, in lower case, and `#`, `"` or `$` where that stands before it. */
  readonly beside: readonly string[];
}

export class SaidWords {
  readonly #numbers = new Map<number, Set<string>>();
  readonly #dates = new Set<string>();
  readonly #times = new Set<string>();
  readonly #hosts = new Set<string>();
  readonly #links = new Set<string>();

  /** Adds what the user said. */
  add(text: string): void {
    const { dates, times, rest } = datesIn(text);
    for (const date of dates) this.#dates.add(date);
    for (const time of times) this.#times.add(time);
    const { links, hosts, rest: words } = linksIn(rest);
    for (const link of links) this.#links.add(link);
    for (const host of hosts) this.#hosts.add(host);
    for (const { value, beside } of numbersIn(words)) {
      const known = this.#numbers.get(value) ?? new Set();
      for (const word of beside) known.add(word);
      this.#numbers.set(value, known);
    }
  }

  /**
   * Whether the user's words mean a value; `undefined` where it is none of the kinds that can be written in several ways, so that its
   * own words decide.
   *
   * @param path where the value is in the arguments: a short number counts as a text only beside such a word.
   */
  means(value: NonNullable<Leaf["value"]>, path: string): boolean | undefined {
    if (typeof value === "number") return this.#numbers.has(value);
    if (typeof value === "boolean") return false;
    const text = value.trim();
    if (/^[-+]?\d[\d,.]*$/.test(text) && !/\d\.\d+\.\d/.test(text)) return this.#meansNumber(text, path);
    const moment = momentOf(text);
    if (moment !== undefined)
      return (
        (moment.date === undefined || this.#dates.has(moment.date)) &&
        (moment.time === undefined ||
          this.#times.has(moment.time) ||
          (moment.date !== undefined && moment.time === "00:00"))
      );
    if (/^https?:\/\//i.test(text)) return this.#meansLink(text);
    if (/^(?:[a-z0-9-]+\.)+[a-z]{2,24}\.?$/i.test(text))
      return this.#hosts.has(text.toLowerCase()) || this.#links.has(`https://${text.toLowerCase()}`)
        ? true
        : undefined;
    return undefined;
  }

  #meansNumber(text: string, path: string): boolean {
    const [only, ...others] = readNumber(text.replace(/^[-+]/, ""));
    if (only === undefined || others.length > 0) return false;
    const beside = this.#numbers.get(text.startsWith("-") ? -only : only);
    if (beside === undefined) return false;
    if (text.replaceAll(/\D/g, "").length >= MIN_TELLING_DIGITS) return true;
    const nouns = new Set(path.split(/(?=[A-Z])|[^A-Za-z]+/).map((word) => word.toLowerCase()));
    return [...beside].some(
      (word) =>
        word === "#" ||
        word === '"' ||
        nouns.has(word) ||
        nouns.has(word.replace(/s$/, "")) ||
        (word === "$" && /amount|price|sum|total|value|cost|limit|budget/i.test(path)),
    );
  }

  #meansLink(text: string): boolean {
    const link = canonicalLink(text);
    if (link === undefined) return false;
    if (this.#links.has(link)) return true;
    const { hostname, pathname, search, hash, port, protocol } = new URL(text);
    const isRoot = pathname === "/" && search === "" && hash === "" && port === "" && !/[?#]/.test(text);
    return isRoot && (this.#hosts.has(hostname) || this.#links.has(`${protocol}//${hostname}`));
  }
}

/** A URL in one form of several that mean the same; `undefined` if it has a user, or is none. */
function canonicalLink(text: string): string | undefined {
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return undefined;
  return url.href.replace(/\/$/, "");
}

/** The URLs and hosts in words, and the words without them. A host alone means its first page, by either scheme. */
function linksIn(text: string): { links: string[]; hosts: string[]; rest: string } {
  const links: string[] = [];
  const hosts: string[] = [];
  const plainly = (link: string) => link.replace(/[.,;:!?)\]}]+$/, "");
  const withoutLinks = text.replace(LINK, (found) => {
    const link = canonicalLink(plainly(found));
    if (link !== undefined) links.push(link);
    return " ";
  });
  const rest = withoutLinks.replace(HOST, (_, host: string, path?: string) => {
    hosts.push(host.toLowerCase());
    for (const scheme of path === undefined ? [] : ["https", "http"]) {
      const link = canonicalLink(`${scheme}://${host}${plainly(path ?? "")}`);
      if (link !== undefined) links.push(link);
    }
    return " ";
  });
  return { links, hosts, rest };
}

const twoDigits = (number: number) => String(number).padStart(2, "0");

function dateOf(year: number, month: number, day: number): string | undefined {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31
    ? `${year}-${twoDigits(month)}-${twoDigits(day)}`
    : undefined;
}

const monthOf = (name: string) =>
  MONTHS.findIndex((month) => month.startsWith(name.slice(0, 3).toLowerCase())) + 1;

/** The dates and times in words, and the words without them. A day without a year is no date, and its number no number. */
function datesIn(text: string): { dates: string[]; times: string[]; rest: string } {
  const dates: string[] = [];
  const times: string[] = [];
  const note = (date: string | undefined) => {
    if (date !== undefined) dates.push(date);
    return " ";
  };
  const rest = text
    .replace(ISO, (_, year: string, month: string, day: string) =>
      note(dateOf(Number(year), Number(month), Number(day))),
    )
    .replace(SLASHED, (_, first: string, __: string, second: string, year: string) => {
      note(dateOf(Number(year), Number(first), Number(second)));
      return note(dateOf(Number(year), Number(second), Number(first)));
    })
    .replace(NAMED_FIRST, (_, month: string, day: string, year?: string) =>
      year === undefined ? " " : note(dateOf(Number(year), monthOf(month), Number(day))),
    )
    .replace(DAY_FIRST, (_, day: string, month: string, year?: string) =>
      year === undefined ? " " : note(dateOf(Number(year), monthOf(month), Number(day))),
    )
    .replace(TIME, (_, hour?: string, minute?: string, half?: string, hour24?: string, minute24?: string) => {
      const own =
        half === undefined ? Number(hour24) : (Number(hour) % 12) + (half.toLowerCase() === "p" ? 12 : 0);
      if (own < 24) times.push(`${twoDigits(own)}:${(half === undefined ? minute24 : minute) ?? "00"}`);
      return " ";
    })
    .replace(ORDINAL, " ");
  return { dates, times, rest };
}

/** A date, a time, or both, in any of the ways in which people and programs write them. */
function momentOf(text: string): { date?: string; time?: string } | undefined {
  const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::00(?:\.0+)?)?Z?)?$/.exec(text);
  if (iso !== null)
    return {
      ...(iso[1] === undefined ? {} : { date: iso[1] }),
      ...(iso[2] === undefined ? {} : { time: iso[2] }),
    };
  if (text.length > 40 || !/\d/.test(text)) return undefined;
  const { dates, times, rest } = datesIn(text);
  if (rest.trim() !== "" || dates.length + times.length !== 1) return undefined;
  const [[date], [time]] = [dates, times];
  return { ...(date === undefined ? {} : { date }), ...(time === undefined ? {} : { time }) };
}

/** The numbers in words. A number that is a part of an id, a path, a version or a range is none. */
function* numbersIn(text: string): Generator<SaidNumber> {
  for (const { 0: found, index } of text.matchAll(NUMBER)) {
    const before = text.slice(Math.max(0, index - 24), index);
    const after = text.slice(index + found.length, index + found.length + 24);
    const lead = /(\S*)$/.exec(before)?.[1] ?? "";
    const trail = /^(\S*)/.exec(after)?.[1] ?? "";
    const marks =
      /^["'(\u201c]*([-\u2212+]?)([#$\u20ac\u00a3\u00a5]?)([-\u2212]?)$|^.*?[=:(,]["']?([-\u2212+]?)([#$\u20ac\u00a3\u00a5]?)$/.exec(
        lead,
      );
    const unit = /^([a-z]{1,6}|[%\u20ac$\u00a3])?["')\]}\u201d.,;:!?]*(?:$|-[a-z])/i.exec(trail);
    if (marks === null || unit === null) continue;
    const suffix = unit[1]?.toLowerCase() ?? "";
    const times =
      suffix === ""
        ? (MULTIPLE[MULTIPLES.exec(after)?.[1]?.toLowerCase() ?? ""] ?? 1)
        : (UNITS[suffix] ?? (MEASURES.test(suffix) ? 1 : 0));
    if (times === 0) continue;
    const isNegative = /[-\u2212]/.test(lead);
    const [wordBefore = "", wordAfter = ""] = [
      /([\p{L}]+)\W*$/u.exec(before)?.[1],
      /^\W*([\p{L}]+)/u.exec(after)?.[1],
    ];
    const beside = [wordBefore.toLowerCase(), wordAfter.toLowerCase()];
    if (lead.includes("#") || /^(?:no|number|nr|id)$/i.test(wordBefore)) beside.push("#");
    if (/["'\u201c]$/.test(lead)) beside.push('"');
    if (CURRENCY.test(lead) || CURRENCY.test(suffix) || /^(?:eur|usd|gbp|chf)$/i.test(suffix || wordAfter))
      beside.push("$");
    for (const value of readNumber(found))
      yield { value: round((isNegative ? -value : value) * times), beside };
  }
  for (const { 0: found, index } of text.matchAll(NUMBER_WORD)) {
    const after =
      /^\W*([\p{L}]+)/u.exec(text.slice(index + found.length, index + found.length + 24))?.[1] ?? "";
    yield { value: NUMBER_WORDS.indexOf(found.toLowerCase()), beside: [after.toLowerCase()] };
  }
}

const round = (value: number) => Number(value.toPrecision(15));

/** The numbers that digits with separators mean: `1,500` one, `1,2` may be one or two, and `1.2.3` none. */
function readNumber(text: string): number[] {
  const digits = text.replaceAll(/['\u2019\u00a0\u202f]/g, "");
  const points = digits.split(".").length - 1;
  const commas = digits.split(",").length - 1;
  if (points + commas === 0) return [Number(digits)];
  if (points <= 1 && commas > 0 && /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(digits))
    return [Number(digits.replaceAll(",", ""))];
  if (commas === 1 && /^\d{1,3}(?:\.\d{3})+,\d+$/.test(digits))
    return [Number(digits.replaceAll(".", "").replace(",", "."))];
  if (commas === 0 && points === 1) return [Number(digits)];
  if (commas === 0 && /^\d{1,3}(?:\.\d{3}){2,}$/.test(digits)) return [Number(digits.replaceAll(".", ""))];
  if (points === 0 && commas === 1 && /,\d{1,2}$/.test(digits)) return [Number(digits.replace(",", "."))];
  if (points === 0) return digits.split(",").map(Number);
  return [];
}
