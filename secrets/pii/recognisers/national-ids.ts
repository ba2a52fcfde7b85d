import { personValidators, type Validator } from "stdnum";
import {
  type Excerpt,
  isEdgeAfter,
  isEdgeBefore,
  type PiiRange,
  type Recogniser,
  wordsBefore,
} from "../pii-kinds.ts";
import { type NumberRun, numberRuns, writtenNumber } from "./number-runs.ts";

const MAX_GROUPS = 7;

/** Matches the names of ids in many languages. */
const CALLED =
  /(?:\bssn\b|social (?:security|insurance)|\bnational (?:id|insurance|number|registration)|\bnin\b|\bnino\b|\butr\b|\btax (?:id|no|nr|num|payer|code|file)|\btin\b|\btfn\b|\bird\b|steuer|\bidnr\b|\bsvnr\b|versicherung|\bahv\b|\bavs\b|\bpesel\b|\bbsn\b|burgerservice|rijksregister|\bniss\b|\bcpf\b|\bcnp\b|\begn\b|\bjmbg\b|\bemso\b|\bcurp\b|\brfc\b|\bdni\b|\bnie\b|\bnif\b|\bcuit\b|\bnir\b|\binsee\b|s[eé]cu|codice fiscale|personnummer|\bperson(?:al)? ?(?:nr|nummer|number|id|identity|identification|code)|f[øo]dselsnummer|\bcpr\b|\bhetu\b|henkil|aadhaa?r|\brut\b|\brrn\b|\bcnic\b|\bnric\b|\bhkid\b|kimlik|\bamka\b|\boib\b|isikukood|asmens|kennitala|\bidentity\b|\bidentification\b|c[eé]dula|\bid (?:card|number)|\bcitizen|\bresident (?:id|registration)|rodn[eé])/;

/** Matches an id that contains letters, with or without its usual signs. */
const LETTERED = /[A-Za-z0-9]+(?:[-+./][A-Za-z0-9]+){0,4}/g;
const MIN_LETTERED_CHARS = 8;
const MAX_LETTERED_CHARS = 22;
const SPACED_NINO = /[A-Z]{2} \d{2} \d{2} \d{2} [A-D]/g;

interface CountryRules {
  readonly country: string;
  readonly validators: readonly Validator[];
}

/**
 * Finds personal ids of the given countries by their check digits. If the check is weak, an id must be written in the country's
 * form (`123-45-6789`), or the words before it must name an id.
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

/** The numbers of groups, from a first group on, that have as many digits as an id, largest first. */
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
    const { signBefore } = form;
    const signed =
      signBefore === undefined ? [] : [`${digits.slice(0, -signBefore)}-${digits.slice(-signBefore)}`];
    return [written, digits, ...signed].some((id) => validators.some((validator) => isIdOf(validator, id)));
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
    // Digests and similar texts are in lower case.
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

/** Whether a text is valid. Some validators throw for text that they cannot read. */
function isIdOf(validator: Validator, text: string): boolean {
  try {
    const result = validator.validate(text);
    return result.isValid && result.isIndividual;
  } catch {
    return false;
  }
}

/** The written form of personal ids in a country. */
interface IdForm {
  /** The lengths of ids of digits only. */
  readonly lengths: readonly number[];
  /** The form with signs that no other number of the same length uses. */
  readonly written?: RegExp;
  /** The lengths at which fewer than one in two hundred numbers pass the check, so that digits alone suffice. */
  readonly telling?: readonly number[];
  /** How many digits follow the sign, in ids that people also write without it and that the check takes only with it. */
  readonly signBefore?: number;
  /** The form of ids that contain letters, without signs. */
  readonly lettered?: RegExp;
}

/** By the country's ISO 3166-1 code. */
const ID_FORMS: Readonly<Record<string, IdForm>> = {
  AD: { lengths: [], lettered: /^[A-Z]\d{6}[A-Z]$/ },
  AI: { lengths: [10] },
  AL: { lengths: [], lettered: /^[A-Z]\d{8}[A-Z]$/ },
  AO: { lengths: [], lettered: /^\d{9}[A-Z]{2}\d{3}$/ },
  AR: { lengths: [7, 8, 11], telling: [11], written: /^\d{2}-\d{8}-\d$/ },
  AT: { lengths: [10], written: /^\d{4} \d{6}$/ },
  AU: { lengths: [8, 9], written: /^\d{3} \d{3} \d{3}$/ },
  AZ: { lengths: [10] },
  BA: { lengths: [13], telling: [13] },
  BE: { lengths: [11], telling: [11], written: /^\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}$/ },
  BG: { lengths: [10] },
  BR: { lengths: [11], written: /^\d{3}\.\d{3}\.\d{3}-\d{2}$/ },
  BY: { lengths: [9] },
  BZ: { lengths: [8] },
  CA: { lengths: [9], written: /^\d{3}[- ]\d{3}[- ]\d{3}$/ },
  CH: { lengths: [13], telling: [13], written: /^756\.\d{4}\.\d{4}\.\d{2}$/ },
  CL: { lengths: [8, 9], lettered: /^\d{7,8}K$/ },
  CN: { lengths: [18], telling: [18], lettered: /^\d{17}X$/ },
  CO: { lengths: [8, 9, 10] },
  CR: { lengths: [9, 10, 12] },
  CU: { lengths: [11] },
  CZ: { lengths: [9, 10], written: /^\d{6}\/\d{3,4}$/ },
  DE: { lengths: [11], written: /^\d{2} \d{3} \d{3} \d{3}$/, lettered: /^\d{8}[A-Z]\d{3}$/ },
  DK: { lengths: [10], written: /^\d{6}-\d{4}$/ },
  DO: { lengths: [11], written: /^\d{3}-\d{7}-\d$/ },
  EC: { lengths: [10] },
  EE: { lengths: [11] },
  ES: { lengths: [], lettered: /^(?:\d{8}|[XYZ]\d{7})[A-Z]$/ },
  FI: { lengths: [], lettered: /^\d{6}[A-FYXWVU]?\d{3}[0-9A-Z]$/ },
  FR: {
    lengths: [13, 15],
    written: /^\d \d{2} \d{2} \d{2} \d{3} \d{3} \d{2}$/,
    lettered: /^[1-478]\d{4}2[AB]\d{8}$/,
  },
  GB: { lengths: [10], lettered: /^[A-Z]{2}\d{6}[A-D]?$/ },
  GH: { lengths: [], lettered: /^[A-Z]\d{10}$/ },
  GR: { lengths: [11], telling: [11] },
  GT: { lengths: [13], telling: [13] },
  HK: { lengths: [], lettered: /^[A-Z]{1,2}\d{6}[\dA]$/ },
  HR: { lengths: [11] },
  HU: { lengths: [8] },
  ID: { lengths: [15] },
  IE: { lengths: [], lettered: /^\d{7}[A-Z]{1,2}$/ },
  IL: { lengths: [9] },
  IN: { lengths: [12], written: /^\d{4} \d{4} \d{4}$/ },
  IS: { lengths: [10], written: /^\d{6}-\d{4}$/ },
  IT: { lengths: [], lettered: /^[A-Z]{6}[0-9L-NP-V]{2}[A-Z][0-9L-NP-V]{2}[A-Z][0-9L-NP-V]{3}[A-Z]$/ },
  KR: { lengths: [13], telling: [13], written: /^\d{6}-\d{7}$/ },
  LI: { lengths: [12] },
  LT: { lengths: [11] },
  LV: { lengths: [11], written: /^\d{6}-\d{5}$/ },
  ME: { lengths: [13], telling: [13] },
  MK: { lengths: [13], telling: [13] },
  MU: { lengths: [], lettered: /^[A-Z]\d{12}[0-9A-Z]$/ },
  MX: { lengths: [], lettered: /^[A-Z&Ñ]{3,4}\d{6}[A-Z0-9]{3,8}$/ },
  MY: { lengths: [12], written: /^\d{6}-\d{2}-\d{4}$/ },
  MZ: { lengths: [9], lettered: /^\d{12}[A-Z]$/ },
  NL: { lengths: [8, 9] },
  NO: { lengths: [11], telling: [11], written: /^\d{6} \d{5}$/ },
  NZ: { lengths: [8, 9], written: /^\d{2,3}-\d{3}-\d{3}$/ },
  PE: { lengths: [8, 9] },
  PK: { lengths: [13], written: /^\d{5}-\d{7}-\d$/ },
  PL: { lengths: [11] },
  PT: { lengths: [9], written: /^\d{3} \d{3} \d{3}$/ },
  PY: { lengths: [7, 8, 9] },
  RO: { lengths: [13], telling: [13] },
  RS: { lengths: [13], telling: [13] },
  RU: { lengths: [12] },
  SE: { lengths: [10, 12], written: /^(?:\d{2})?\d{6}[-+]\d{4}$/, signBefore: 4 },
  SI: { lengths: [13], telling: [13] },
  SK: { lengths: [9, 10], written: /^\d{6}\/\d{3,4}$/ },
  SV: { lengths: [14], written: /^\d{4}-\d{6}-\d{3}-\d$/ },
  TH: { lengths: [13], written: /^\d-\d{4}-\d{5}-\d{2}-\d$/ },
  TR: { lengths: [11] },
  TW: { lengths: [8] },
  UA: { lengths: [10] },
  US: { lengths: [9], written: /^\d{3}-\d{2}-\d{4}$/ },
  UY: { lengths: [8, 9], written: /^\d\.\d{3}\.\d{3}-\d$/ },
  VN: { lengths: [10, 13] },
  ZA: { lengths: [10, 13], telling: [13], written: /^\d{6} \d{4} \d{3}$/ },
};
