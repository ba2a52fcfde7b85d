import { isFunctionWord } from "./common-words.ts";
import { type Token, tokenOf } from "./token.ts";

/**
 * One word as it stands in a text: its parts, and, where two or three parts are written as one word (`GitHub`, `e-mail`,
 * `s3`), the word as a whole, which others may write without the seam.
 */
export interface Word {
  readonly parts: readonly Token[];
  readonly whole?: Token;
  /** Parts and whole, and of these the ones that are not words of grammar. */
  readonly tokens: readonly Token[];
  readonly content: readonly Token[];
}

/** Scripts that do not put spaces between words: they are indexed by pairs of neighbouring characters. */
const UNSPACED =
  "\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Hang}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}ー々";
const LOWER = `(?:(?![${UNSPACED}])[\\p{Ll}\\p{Lo}\\p{Lm}\\p{M}])`;
const NOT_ASCII = /[^\p{ASCII}]/u;

const ASCII_WORD = /[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*/g;
const ASCII_PART = /[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const ANY_WORD = /[\p{L}\p{M}\p{N}ー]+(?:-[\p{L}\p{M}\p{N}ー]+)*/gu;
// These take milliseconds to build, for which no command waits that searches nothing.
let builtAnyPart: RegExp | undefined;
let builtUnspacedRun: RegExp | undefined;

function anyPart(): RegExp {
  builtAnyPart ??= new RegExp(
    `[${UNSPACED}]+|\\p{Lu}{2,}s(?!\\p{Ll})|\\p{Lu}+(?!\\p{Ll})|[\\p{Lu}\\p{Lt}]?${LOWER}+|\\p{Lt}|\\p{N}+`,
    "gu",
  );
  return builtAnyPart;
}

function unspacedRun(): RegExp {
  builtUnspacedRun ??= new RegExp(`^[${UNSPACED}]`, "u");
  return builtUnspacedRun;
}

const ONE_CASE = /^[A-Za-z]?[a-z]*$/;

/**
 * The words of a text or an identifier, in order. Splits `camelCase`, `ALLCAPSWord`, `snake_case`, `kebab-case` and
 * digits from letters, folds accents and width, and cuts scripts without spaces into pairs of characters. Linear in the
 * text's length; cap that before.
 */
export function tokenize(text: string): Word[] {
  return rawWords(text).map((raw) => {
    const known = remembered.get(raw);
    if (known !== undefined) return known;
    const word = takeApart(raw);
    if (raw.length <= MAX_REMEMBERED_CHARS) remember(raw, word);
    return word;
  });
}

/** The words of a text as they stand in it, but for accents and compatibility forms. */
export function rawWords(text: string): readonly string[] {
  return (NOT_ASCII.test(text) ? fold(text).match(ANY_WORD) : text.match(ASCII_WORD)) ?? [];
}

/** One word, as `rawWords` has it. */
export function takeApart(raw: string): Word {
  if (ONE_CASE.test(raw)) return wordOf([tokenOf(raw)]);
  return compound(raw.match(NOT_ASCII.test(raw) ? anyPart() : ASCII_PART) ?? []);
}

/** Compatibility forms made one, and Latin, Greek and Cyrillic letters without their accents. */
function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC");
}

function compound(rawParts: readonly string[]): Word {
  const unspaced = unspacedRun();
  const isUnspaced = rawParts.some((raw) => unspaced.test(raw));
  const parts = rawParts.flatMap((raw) => (unspaced.test(raw) ? pairs([...raw]) : [raw])).map(tokenOf);
  const joins = parts.length > 1 && parts.length <= 3 && !isUnspaced;
  return wordOf(parts, joins ? tokenOf(parts.map(({ text }) => text).join("")) : undefined);
}

function wordOf(parts: readonly Token[], whole?: Token): Word {
  const tokens = whole === undefined ? parts : [...parts, whole];
  const content = tokens.filter(({ text }) => !isFunctionWord(text));
  return whole === undefined ? { parts, tokens, content } : { parts, whole, tokens, content };
}

function pairs(characters: readonly string[]): string[] {
  if (characters.length < 2) return [...characters];
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

/**
 * Words are few and are repeated often, so taking them apart once makes indexing several times as fast. Enough for any
 * real catalog; emptied, not kept up, when a hostile one exceeds it.
 */
const remembered = new Map<string, Word>();
const MAX_REMEMBERED = 50_000;
const MAX_REMEMBERED_CHARS = 64;

function remember(raw: string, word: Word): void {
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(raw, word);
}
