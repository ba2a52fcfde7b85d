import { type CountryCode, Metadata } from "libphonenumber-js/max";

/** What libphonenumber's metadata has of a country, of which its types tell only a part. */
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
 * Whether digits are a number of a country, dialled there: what libphonenumber decides of a number that it has parsed, by the same
 * patterns, in a hundredth of the time. Texts may be full of digits that are none.
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
