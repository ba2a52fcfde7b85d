/** The digits of an exact decimal number, without its sign: `digits` times ten to the power of `exponent`. */
interface Decimal {
  digits: string;
  exponent: number;
}

/** Integers of this many digits are exact as numbers. */
const EXACT_DIGITS = 15;

/**
 * Whether a number is a whole multiple of another as both are written in JSON: 19.99 is a multiple of 0.01, which binary division
 * denies (JSON Schema 2020-12, Validation, section 6.2.1). A divisor that is not positive is no valid keyword, and denies nothing.
 */
export function isDecimalMultiple(value: number | bigint, divisor: number | bigint): boolean {
  if (!(divisor > 0) || value === 0) return true;
  if (typeof value === "bigint" && typeof divisor === "bigint") return value % divisor === 0n;
  if (isSafe(value) && isSafe(divisor)) return value % divisor === 0;
  const dividend = decimalOf(value);
  const by = decimalOf(divisor);
  if (dividend === undefined || by === undefined) return false;
  const exponent = Math.min(dividend.exponent, by.exponent);
  const zeros = dividend.exponent - exponent;
  const zerosBelow = by.exponent - exponent;
  if (Math.max(dividend.digits.length + zeros, by.digits.length + zerosBelow) <= EXACT_DIGITS)
    return (Number(dividend.digits) * 10 ** zeros) % (Number(by.digits) * 10 ** zerosBelow) === 0;
  return (
    (BigInt(dividend.digits) * 10n ** BigInt(zeros)) % (BigInt(by.digits) * 10n ** BigInt(zerosBelow)) === 0n
  );
}

function isSafe(number: number | bigint): number is number {
  return Number.isSafeInteger(number);
}

/** The shortest decimal number that reads as `number`, which is how JSON writes it; `undefined` if it is not finite. */
function decimalOf(number: number | bigint): Decimal | undefined {
  const [, whole = "", fraction = "", exponent = "0"] =
    /^-?(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(number)) ?? [];
  if (whole === "") return undefined;
  return { digits: whole + fraction, exponent: Number(exponent) - fraction.length };
}
