import {
  type CountryCode,
  Metadata,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from "libphonenumber-js/max";
import { type Excerpt, type PiiRange, type Recogniser, wordsBefore } from "../pii-kinds.ts";
import { type NumberRun, numberRuns, separatorOf, type WrittenNumber, writtenNumber } from "./number-runs.ts";

/** Bounds of ITU-T E.164, with room for the prefixes that are dialled in a country. */
const MIN_DIGITS = 7;
const MAX_DIGITS = 17;
const MAX_GROUPS = 8;

/** A longer run is a table of numbers, in which neighbouring numbers cannot be separated. */
const MAX_RUN_GROUPS = 12;

/**
 * The most calls of libphonenumber for one excerpt, because they are slow. Usual texts need fewer. Beyond the limit, a number
 * counts as a phone number if it looks like one.
 */
const MAX_PARSED = 400;

const PHONE =
  /(?:phone|telefon|tele?fax|tel[eé]fono|t[eé]l[eé]phone|\btel\b|\bfax\b|\bmob(?:ile?|il)?\b|m[oó]vil|celular|cellulare|\bcell\b|handy|whatsapp|\bsms\b|msisdn|rufnummer|puhelin|portable|telefoon)/;

/** Matches dates and times, whose digits can be a phone number in some country. */
const DATE =
  /^(?:(?:19|20)\d\d[-./](?:0[1-9]|1[0-2])[-./](?:0[1-9]|[12]\d|3[01])|(?:0?[1-9]|[12]\d|3[01])[-./](?:0?[1-9]|[12]\d|3[01])[-./](?:19|20)\d\d)(?:\D|$)/;

/**
 * Finds phone numbers: with a `+` of any country, and without it as dialled in the given countries. A number without a `+` must
 * look like one (a bracket or a zero before the area code, or the groups of its country), or the words before it must name one.
 */
export function phoneNumbersOf(countries: readonly string[]): Recogniser {
  const plans = countries.map((country) => new NumberingPlan(country));
  return (excerpt) => {
    const search = new PhoneSearch(excerpt, plans);
    for (const run of numberRuns(excerpt.text, excerpt.from)) search.look(run);
    return search.found;
  };
}

class PhoneSearch {
  readonly found: PiiRange[] = [];
  readonly #excerpt: Excerpt;
  readonly #plans: readonly NumberingPlan[];
  #parsed = 0;

  constructor(excerpt: Excerpt, plans: readonly NumberingPlan[]) {
    this.#excerpt = excerpt;
    this.#plans = plans;
  }

  look(run: NumberRun): void {
    const { text } = this.#excerpt;
    const { groups } = run;
    if (groups.reduce((sum, { digits }) => sum + digits.length, 0) < MIN_DIGITS) return;
    const isPlus = text.slice(run.start, groups[0]?.start).includes("+");
    const isCalled = PHONE.test(wordsBefore(this.#excerpt, run.start));
    for (let first = 0; first < groups.length; ) {
      const number =
        isPlus && first === 0
          ? this.#international(run)
          : this.#national(run, first, isCalled && first < MAX_RUN_GROUPS);
      if (number !== undefined)
        this.found.push({ start: number.start, end: closed(text, number), kind: "phone" });
      first += number?.groups.length ?? 1;
    }
  }

  /** The number with a `+` at the start of a run: the most groups that form one. */
  #international(run: NumberRun): WrittenNumber | undefined {
    return longest(this.#excerpt.text, run, 0, (number) => {
      if (number.digits.startsWith("0")) return false;
      const phone = this.#parse(`+${number.digits}`);
      if (phone === "unknown") return number.digits.length >= 10;
      return phone?.isValid() === true || (phone?.isPossible() === true && number.digits.length >= 10);
    });
  }

  /** The number that begins with a group of a run, as dialled in one of the countries. */
  #national(run: NumberRun, first: number, isCalled: boolean): WrittenNumber | undefined {
    const { text } = this.#excerpt;
    const group = run.groups[first];
    if (group === undefined || (!isCalled && run.groups.length > MAX_RUN_GROUPS)) return undefined;
    if (text.charAt(group.start - 1) === "/") return undefined;
    const isOpened = text.charAt(group.start - 1) === "(" && text.charAt(group.end) === ")";
    const isZero = group.digits.startsWith("0");
    if (!isCalled && !isOpened && !isZero && text.charAt(group.end) === " ") return undefined;
    return longest(text, run, first, (number) => {
      const { digits, groups } = number;
      if ((!isCalled && groups.length === 1) || DATE.test(number.text)) return false;
      if (digits.startsWith("00")) {
        const phone = this.#parse(`+${digits.slice(2)}`);
        if (phone !== "unknown" && phone?.isValid() === true) return true;
      }
      return this.#plans.some(
        (plan) =>
          plan.has(digits) &&
          (isCalled || (isZero && groups.length < 7) || this.#isGrouped(number, plan, isOpened)),
      );
    });
  }

  /** Whether a number has the groups of its country. Spaces do not count, because they occur between any numbers. */
  #isGrouped(number: WrittenNumber, { country }: NumberingPlan, isOpened: boolean): boolean {
    const { text } = this.#excerpt;
    const { digits, groups } = number;
    if (!isOpened && !/^[.\-\u2010\u2011]$/.test(separatorOf(text, groups) ?? "")) return false;
    const phone = this.#parse(digits, country);
    if (phone === "unknown") return true;
    if (phone === undefined) return false;
    const written = groups.map((group) => group.digits).join(" ");
    const inGroups = (format: string) =>
      format
        .replace(/^\+\d+ /, "")
        .replace(/\D+/g, " ")
        .trim();
    return written === inGroups(phone.formatNational()) || written === inGroups(phone.formatInternational());
  }

  #parse(number: string, country?: NumberingPlan["country"]): PhoneNumber | undefined | "unknown" {
    if (this.#parsed++ >= MAX_PARSED) return "unknown";
    return parsePhoneNumberFromString(number, country);
  }
}

/** The number of the most groups, from a first group on. */
function longest(
  text: string,
  run: NumberRun,
  first: number,
  isNumber: (number: WrittenNumber) => boolean,
): WrittenNumber | undefined {
  const counts: number[] = [];
  let digits = 0;
  for (let count = 1; count <= MAX_GROUPS && first + count <= run.groups.length; count++) {
    digits += run.groups[first + count - 1]?.digits.length ?? 0;
    if (digits > MAX_DIGITS) break;
    if (digits >= MIN_DIGITS) counts.unshift(count);
  }
  for (const count of counts) {
    const number = writtenNumber(text, run, first, count);
    if (number !== undefined && !isFraction(text, number) && isNumber(number)) return number;
  }
  return undefined;
}

/** Whether its only separator is a single point, as in `8.4012345`. */
function isFraction(text: string, { groups }: WrittenNumber): boolean {
  return groups.length === 2 && separatorOf(text, groups) === ".";
}

/** The end of a number, including the closing bracket if the whole number is in brackets. */
function closed(text: string, { start, end }: WrittenNumber): number {
  const isOpen = text.charAt(start) === "(" && !text.slice(start, end).includes(")");
  return isOpen && text.charAt(end) === ")" ? end + 1 : end;
}

/** The metadata of a country in libphonenumber, whose type declarations are incomplete. */
interface PlanMetadata {
  nationalNumberPattern(): string;
  possibleLengths(): readonly number[];
  nationalPrefixForParsing(): string | undefined;
  nationalPrefixTransformRule(): string | undefined;
  types(): readonly unknown[] | Readonly<Record<string, unknown>> | undefined;
  type(type: string): { pattern(): string } | undefined;
}

const TYPES = [
  "FIXED_LINE",
  "MOBILE",
  "TOLL_FREE",
  "PREMIUM_RATE",
  "SHARED_COST",
  "VOIP",
  "PERSONAL_NUMBER",
  "PAGER",
  "UAN",
  "VOICEMAIL",
];

/**
 * Decides whether digits are a number as dialled in a country. It uses the patterns of libphonenumber and gives the same answer
 * in a hundredth of the time, because texts may be full of other digits.
 */
export class NumberingPlan {
  readonly country: CountryCode;
  readonly #prefix: RegExp | undefined;
  readonly #transform: string | undefined;
  readonly #pattern: RegExp;
  readonly #types: readonly RegExp[];

  constructor(country: string) {
    this.country = country as CountryCode;
    const metadata = new Metadata();
    metadata.selectNumberingPlan(this.country);
    const plan = metadata.numberingPlan as unknown as PlanMetadata;
    const prefix = plan.nationalPrefixForParsing();
    this.#prefix = prefix === undefined ? undefined : new RegExp(`^(?:${prefix})`);
    this.#transform = plan.nationalPrefixTransformRule();
    this.#pattern = whole(plan.nationalNumberPattern());
    this.#types = TYPES.flatMap((type) => {
      const pattern = plan.type(type)?.pattern();
      return pattern === undefined ? [] : [whole(pattern)];
    });
  }

  has(digits: string): boolean {
    return this.#isNational(digits) || this.#isNational(this.#withoutPrefix(digits));
  }

  #isNational(digits: string): boolean {
    return this.#pattern.test(digits) && this.#types.some((type) => type.test(digits));
  }

  #withoutPrefix(digits: string): string {
    const match = this.#prefix?.exec(digits);
    if (this.#prefix === undefined || match == null || match[0] === "") return digits;
    const isTransformed = this.#transform !== undefined && match.at(-1) !== undefined && match.length > 1;
    return isTransformed
      ? digits.replace(this.#prefix, this.#transform ?? "")
      : digits.slice(match[0].length);
  }
}

function whole(pattern: string): RegExp {
  return new RegExp(`^(?:${pattern})$`);
}
