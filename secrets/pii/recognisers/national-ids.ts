import { personValidators, type Validator } from "stdnum";
import type { Excerpt, PiiRange, Recogniser } from "../pii-kinds.ts";
import { isEdgeAfter, isEdgeBefore, wordsBefore } from "./excerpts.ts";
import { ID_FORMS } from "./national-id-forms.ts";
import { type NumberRun, numberRuns, writtenNumber } from "./number-runs.ts";

const MAX_GROUPS = 7;

/** What people and forms call an id, in whatever language. */
const CALLED =
  /(?:\bssn\b|social (?:security|insurance)|\bnational (?:id|insurance|number|registration)|\bnin\b|\bnino\b|\butr\b|\btax (?:id|no|nr|num|payer|code|file)|\btin\b|\btfn\b|\bird\b|steuer|\bidnr\b|\bsvnr\b|versicherung|\bahv\b|\bavs\b|\bpesel\b|\bbsn\b|burgerservice|rijksregister|\bniss\b|\bcpf\b|\bcnp\b|\begn\b|\bjmbg\b|\bemso\b|\bcurp\b|\brfc\b|\bdni\b|\bnie\b|\bnif\b|\bcuit\b|\bnir\b|\binsee\b|s[eé]cu|codice fiscale|personnummer|\bperson(?:al)? ?(?:nr|nummer|number|id|identity|identification|code)|f[øo]dselsnummer|\bcpr\b|\bhetu\b|henkil|aadhaa?r|\brut\b|\brrn\b|\bcnic\b|\bnric\b|\bhkid\b|kimlik|\bamka\b|\boib\b|isikukood|asmens|kennitala|\bidentity\b|\bidentification\b|c[eé]dula|\bid (?:card|number)|\bcitizen|\bresident (?:id|registration)|rodn[eé])/;

/** An id with letters in it, written together or with its usual signs. */
const LETTERED = /[A-Za-z0-9]+(?:[-+./][A-Za-z0-9]+){0,4}/g;
const MIN_LETTERED_CHARS = 8;
const MAX_LETTERED_CHARS = 22;
const SPACED_NINO = /[A-Z]{2} \d{2} \d{2} \d{2} [A-D]/g;

interface CountryRules {
  readonly country: string;
  readonly validators: readonly Validator[];
}

/**
 * Ids of persons in the given countries, by their check digits. Where a check tells little, an id must be written as the
 * country writes it (`123-45-6789`), or be called an id by the words before it.
 */
export function nationalIdsOf(countries: readonly string[]): Recogniser {
  const rules = countries.map(
    (country): CountryRules => ({ country, validators: personValidators[country] ?? [] }),
  );
  const lengths = new Set(countries.flatMap((country) => ID_FORMS[country]?.lengths ?? []));
  return (excerpt) => [...digitIds(excerpt, rules, lengths), ...letteredIds(excerpt, rules)];
}

function digitIds(
  excerpt: Excerpt,
  rules: readonly CountryRules[],
  lengths: ReadonlySet<number>,
): PiiRange[] {
  const { text, from } = excerpt;
  const found: PiiRange[] = [];
  for (const run of numberRuns(text, from)) {
    let isCalled: boolean | undefined;
    const called = () => {
      isCalled ??= CALLED.test(wordsBefore(excerpt, run.start));
      return isCalled;
    };
    for (let first = 0; first < run.groups.length; ) {
      const count = countsOf(run, first, lengths).find((each) =>
        isDigitId(text, run, first, each, rules, called),
      );
      const begin = run.groups[first];
      const last = run.groups[first + (count ?? 0) - 1];
      if (count !== undefined && begin !== undefined && last !== undefined)
        found.push({ start: begin.start, end: last.end, kind: "national_id" });
      first += count ?? 1;
    }
  }
  return found;
}

/** How many groups from a first one on have as many digits as an id, the most first. */
function countsOf(run: NumberRun, first: number, lengths: ReadonlySet<number>): number[] {
  const counts: number[] = [];
  let digits = 0;
  for (let count = 1; count <= MAX_GROUPS && first + count <= run.groups.length; count++) {
    digits += run.groups[first + count - 1]?.digits.length ?? 0;
    if (lengths.has(digits)) counts.unshift(count);
  }
  return counts;
}

function isDigitId(
  text: string,
  run: NumberRun,
  first: number,
  count: number,
  rules: readonly CountryRules[],
  isCalled: () => boolean,
): boolean {
  const number = writtenNumber(text, run, first, count);
  if (number === undefined) return false;
  const { digits } = number;
  const written = text.slice(number.groups[0]?.start, number.end);
  return rules.some(({ country, validators }) => {
    const form = ID_FORMS[country];
    if (form?.lengths.includes(digits.length) !== true) return false;
    const isTold =
      (count === 1 && form.telling?.includes(digits.length) === true) || form.written?.test(written) === true;
    if (!isTold && !isCalled()) return false;
    return validators.some((validator) => isIdOf(validator, written) || isIdOf(validator, digits));
  });
}

function letteredIds(excerpt: Excerpt, rules: readonly CountryRules[]): PiiRange[] {
  const { text, from } = excerpt;
  const found: PiiRange[] = [];
  const take = (start: number, id: string) => {
    const end = start + id.length;
    const compact = id.replace(/[^A-Za-z0-9]/g, "").toUpperCase();
    const may = rules.filter(({ country }) => ID_FORMS[country]?.lettered?.test(compact) === true);
    if (may.length === 0 || start < from || !isEdgeBefore(text, start) || !isEdgeAfter(text, end)) return;
    // Digests and the like are in small letters.
    if (id !== id.toUpperCase() && !CALLED.test(wordsBefore(excerpt, start))) return;
    if (may.some(({ validators }) => validators.some((validator) => isIdOf(validator, id.toUpperCase()))))
      found.push({ start, end, kind: "national_id" });
  };
  for (const { 0: id, index } of text.matchAll(LETTERED)) {
    if (id.length < MIN_LETTERED_CHARS || id.length > MAX_LETTERED_CHARS) continue;
    if (!/[A-Za-z]/.test(id) && !/\d[-+]\d/.test(id)) continue;
    take(index, id);
  }
  if (rules.some(({ country }) => country === "GB"))
    for (const { 0: id, index } of text.matchAll(SPACED_NINO)) take(index, id);
  return found;
}

/** Some validators throw for what they cannot read. */
function isIdOf(validator: Validator, text: string): boolean {
  try {
    const result = validator.validate(text);
    return result.isValid && result.isIndividual;
  } catch {
    return false;
  }
}
