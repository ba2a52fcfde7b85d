/** Kinds of personal data that ptc can redact, by their names in settings and marks. */
export const PII_KINDS = ["email", "phone", "card", "iban", "national_id", "ip"] as const;
export type PiiKind = (typeof PII_KINDS)[number];

/** The personal data to redact. */
export interface PiiSettings {
  readonly kinds: readonly PiiKind[];
  /** ISO 3166-1 codes of the countries whose national ids, and phone numbers without a `+`, are recognised. */
  readonly countries: readonly string[];
}

/** A part of a text that is personal data. */
export interface PiiRange {
  start: number;
  end: number;
  kind: PiiKind;
}

/**
 * A text that a recogniser searches, with its context. Recognisers look at no more than `CONTEXT_CHARS` before a range, so a
 * text can come in pieces.
 */
export interface Excerpt {
  readonly text: string;
  /** The first position where a range may begin. The text before is only context. */
  readonly from: number;
  /** The name of the member whose value the text is, or empty. */
  readonly name: string;
}

/** Finds personal data of one kind, in the order of the text, always in time proportional to the text's length. */
export type Recogniser = (excerpt: Excerpt) => PiiRange[];

/** Countries whose phone numbers libphonenumber knows. */
const PHONE_COUNTRIES =
  "AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW";

/** Countries whose personal ids stdnum knows. */
const ID_COUNTRIES =
  "AD AI AL AO AR AT AU AZ BA BE BG BR BY BZ CA CH CL CN CO CR CU CZ DE DK DO EC EE ES FI FR GB GH GR GT HK HR HU ID IE IL IN IS IT KR LI LT LV ME MK MU MX MY MZ NL NO NZ PE PK PL PT PY RO RS RU SE SI SK SV TH TR TW UA US UY VN ZA";

/** The countries of a kind. Plain lists let ptc read a configuration without loading the packages for recognition. */
export function countriesWith(kind: "phone" | "national_id"): string[] {
  return (kind === "phone" ? PHONE_COUNTRIES : ID_COUNTRIES).split(" ");
}

/** The number of characters before a range that can decide about it. */
export const CONTEXT_CHARS = 48;

const WORD = /[\p{L}\p{N}_]/u;
const ESCAPE = /(?:\\[bfnrt]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})$/;
const ESCAPE_CHARS = 6;

/** Whether a word can begin here. The letter of an escape (`\n`, `%3D`) is not part of a word. */
export function isEdgeBefore(text: string, at: number): boolean {
  if (at === 0 || !WORD.test(text.charAt(at - 1))) return true;
  return ESCAPE.test(text.slice(Math.max(0, at - ESCAPE_CHARS), at));
}

/** Whether a word can end here. */
export function isEdgeAfter(text: string, at: number): boolean {
  return at >= text.length || !WORD.test(text.charAt(at));
}

/** Matches the beginning of another statement. Words before it say nothing about the text after it. */
const STATEMENT = /[{}\n;|]|,\s*"/g;

/**
 * The words that describe the text at a position: the end of the text before it, and the name of the member, in lower case and
 * with spaces between the words of an identifier.
 */
export function wordsBefore({ text, name }: Excerpt, at: number): string {
  const before = text.slice(Math.max(0, at - CONTEXT_CHARS), at);
  let from = 0;
  for (const match of before.matchAll(STATEMENT)) from = match.index + match[0].length;
  return `${name.slice(-CONTEXT_CHARS)} ${before.slice(from)}`
    .replace(/([\p{Ll}])([\p{Lu}])/gu, "$1 $2")
    .replace(/[_-]/g, " ")
    .toLowerCase();
}
