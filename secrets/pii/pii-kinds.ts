/** Kinds of personal data that can be redacted, by the names that settings and marks have for them. */
export const PII_KINDS = ["email", "phone", "card", "iban", "national_id", "ip"] as const;
export type PiiKind = (typeof PII_KINDS)[number];

/** What is redacted of personal data. */
export interface PiiSettings {
  readonly kinds: readonly PiiKind[];
  /** ISO 3166-1 codes: whose phone numbers are known without a `+`, and whose national ids are looked for. */
  readonly countries: readonly string[];
}

/** A part of a text that is personal data. */
export interface PiiRange {
  start: number;
  end: number;
  kind: PiiKind;
}

/**
 * A text in which a recogniser looks, and what decides beside it. Recognisers look at no more than `CONTEXT_CHARS` before a
 * range, so a text can come in pieces.
 */
export interface Excerpt {
  readonly text: string;
  /** Where ranges may begin. The text before is only context. */
  readonly from: number;
  /** The name of the member of which the text is the value; empty without one. */
  readonly name: string;
}

/** Finds personal data of one kind, in the order of the text. Takes time in proportion to the text's length, whatever it says. */
export type Recogniser = (excerpt: Excerpt) => PiiRange[];

/** Countries whose phone numbers are known: those of libphonenumber. */
const PHONE_COUNTRIES =
  "AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW";

/** Countries whose ids of persons are known: those of stdnum. */
const ID_COUNTRIES =
  "AD AI AL AO AR AT AU AZ BA BE BG BR BY BZ CA CH CL CN CO CR CU CZ DE DK DO EC EE ES FI FR GB GH GR GT HK HR HU ID IE IL IN IS IT KR LI LT LV ME MK MU MX MY MZ NL NO NZ PE PK PL PT PY RO RS RU SE SI SK SV TH TR TW UA US UY VN ZA";

/** The countries of a kind, in plain lists: a configuration is read without the packages that recognise anything. */
export function countriesWith(kind: "phone" | "national_id"): string[] {
  return (kind === "phone" ? PHONE_COUNTRIES : ID_COUNTRIES).split(" ");
}

/** Characters before a range that can decide whether it is one. */
export const CONTEXT_CHARS = 48;

const WORD = /[\p{L}\p{N}_]/u;
const ESCAPE = /(?:\\[bfnrt]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})$/;
const ESCAPE_CHARS = 6;

/** Whether a word can begin here. The letter of an escape (`\n`, `%3D`) is no part of a word. */
export function isEdgeBefore(text: string, at: number): boolean {
  if (at === 0 || !WORD.test(text.charAt(at - 1))) return true;
  return ESCAPE.test(text.slice(Math.max(0, at - ESCAPE_CHARS), at));
}

/** Whether a word can end here. */
export function isEdgeAfter(text: string, at: number): boolean {
  return at >= text.length || !WORD.test(text.charAt(at));
}

/** What begins another statement: words before it say nothing of what comes after it. */
const STATEMENT = /[{}\n;|]|,\s*"/g;

/**
 * The words that say what stands at a place: the end of the text before it, and the name of the member, in lower case and with
 * spaces between the words of an identifier.
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
