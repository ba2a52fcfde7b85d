import { stem } from "porter2";

/**
 * A word of a text: its parts, and, if two or three parts are written as one word (`GitHub`, `e-mail`, `s3`), the word as a
 * whole, which others may write without the division.
 */
export interface Word {
  readonly parts: readonly Token[];
  readonly whole?: Token;
  /** The parts and the whole. `content` has those that are not words of grammar. */
  readonly tokens: readonly Token[];
  readonly content: readonly Token[];
}

/** Scripts without spaces between words. They are indexed by pairs of neighbouring characters. */
const UNSPACED =
  "\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Hang}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}ー々";
const LOWER = `(?:(?![${UNSPACED}])[\\p{Ll}\\p{Lo}\\p{Lm}\\p{M}])`;
const NOT_ASCII = /[^\p{ASCII}]/u;

const ASCII_WORD = /[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*/g;
const ASCII_PART = /[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const ANY_WORD = /[\p{L}\p{M}\p{N}ー]+(?:-[\p{L}\p{M}\p{N}ー]+)*/gu;
// These take milliseconds to build, so only commands that search build them.
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
 * digits from letters, folds accents and width, and cuts scripts without spaces into pairs of characters. Takes time linear in
 * the text's length, which callers must bound.
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

/** The words of a text as written, except for accents and compatibility forms. */
export function rawWords(text: string): readonly string[] {
  return (NOT_ASCII.test(text) ? fold(text).match(ANY_WORD) : text.match(ASCII_WORD)) ?? [];
}

/** Analyses a word of `rawWords`. */
export function takeApart(raw: string): Word {
  if (ONE_CASE.test(raw)) return wordOf([tokenOf(raw)]);
  return compound(raw.match(NOT_ASCII.test(raw) ? anyPart() : ASCII_PART) ?? []);
}

/** Unifies compatibility forms, and removes accents from Latin, Greek and Cyrillic letters. */
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
 * A cache of analysed words. Words are few and repeat often, so analysing them once makes indexing several times as fast. The
 * cache is large enough for any real catalog, and is emptied when a hostile one exceeds it.
 */
const remembered = new Map<string, Word>();
const MAX_REMEMBERED = 50_000;
const MAX_REMEMBERED_CHARS = 64;

function remember(raw: string, word: Word): void {
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(raw, word);
}

/** A word in the form for comparing: lower case, without accents. While it is cached, there is one object for each text. */
export interface Token {
  readonly text: string;
  /** The index term of all forms of an English word. For any other word, it is the word itself. */
  readonly stem: string;
  /** The index term of the word in exactly this form. */
  readonly exact: string;
}

const EXACT = "=";
const ENGLISH_WORD = /^[a-z]{3,}$/;

/** Longer words are data, not language, and are cut. */
const MAX_CHARS = 64;

export function tokenOf(word: string): Token {
  const text = word.slice(0, MAX_CHARS).toLowerCase();
  return { text, stem: ENGLISH_WORD.test(text) ? stem(text) : text, exact: exactTerm(text) };
}

/** The index term of a lower-case word in exactly this form. */
export function exactTerm(text: string): string {
  return EXACT + text;
}

/** The word of an exact term, or `undefined` for any other term. */
export function exactWord(term: string): string | undefined {
  return term.startsWith(EXACT) ? term.slice(EXACT.length) : undefined;
}

const MIN_WORD_CHARS = 7;
const MAX_WORD_CHARS = 40;
const MIN_PART_CHARS = 3;

/**
 * The fewest known words that make up an unknown word (`airqualityforecast`: air, quality, forecast). Empty if known words
 * cannot make it up.
 */
export function splitRunTogether(word: string, known: { has(word: string): boolean }): string[] {
  if (word.length < MIN_WORD_CHARS || word.length > MAX_WORD_CHARS || known.has(word)) return [];
  const splits: (string[] | undefined)[] = [[]];
  for (let end = MIN_PART_CHARS; end <= word.length; end++) {
    for (let start = 0; start <= end - MIN_PART_CHARS; start++) {
      const before = splits[start];
      const isShorter = before !== undefined && before.length + 1 < (splits[end]?.length ?? Infinity);
      if (!isShorter) continue;
      const part = word.slice(start, end);
      if (known.has(part)) splits[end] = [...before, part];
    }
  }
  return splits[word.length] ?? [];
}

/**
 * English words that say little about the meant tool in any catalog. The lists are general and not fitted to any collection of
 * queries.
 */

/** Words of grammar, which are not indexed in prose. */
const FUNCTION_WORDS = `
a about above after again against ain all am an and any are aren as at be because been before being below between both
but by can cannot couldn could d did didn do does doesn doing don down during each few for from further had hadn has
hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself let ll m me more
most mustn my myself no nor not of off on once only or other ought our ours ourselves out over own re s same shan she
should shouldn so some such t than that the their theirs them themselves then there these they this those through to
too under until up ve very was wasn we were weren what when where which while who whom why will with won would wouldn
you your yours yourself yourselves`;

/** Words of asking, wishing and describing, which frame a request without being its subject. */
const FRAMING_WORDS = `
able across actually allow allowing allows along already also always among another anybody anyone anything appropriate
around ask asked asking asks assist assistance assisting assists available based believe best better certain come comes
coming comprehensive concerning currently curious detailed different easily effectively efficiently else ensure
ensuring enable enabling entire especially etc even ever every everybody everyone everything exactly feel feeling find
finding following found gave get gets getting give given gives giving go goes going good got great hello help helped
helpful helping helps hey hi hope hoping however ideal important include included includes including interested
interesting just keep keeping keeps kind kindly kinds knew know knowing known knows like liked likes look looking looks
lot lots made make makes making many may maybe might much multiple must necessary need needed needing needs never nice
nobody nothing often one ones others overall particular particularly per perfect perhaps please possible possibly
prefer preferably proper properly provide provided provides providing put quickly quite really recommend
recommendation recommendations recommended recommends regarding related relevant say saying says see seeing seem seems
seen several shall show showing shown shows similar simply somebody someone something sometimes soon specific
specifically still suggest suggested suggestion suggestions suggests suitable sure take taken takes taking tell telling
tells thank thankful thanks therefore thing things think thinking thinks thus told tool tools tried tries try trying
unable upon use used useful uses using usually various via want wanted wanting wants way ways well whole wide wish
wishes wishing within without wonder wondered wondering yet`;

/** Words for actions that apply to any object. The object, not the action, identifies the tool. */
const ACTION_WORDS = `
add build call change check close copy create delete do download edit execute export fetch generate import insert list load
modify move open post publish query read receive remove replace retrieve run save search send set start stop store submit
sync update upload view write`;

const actionWords = new Set(ACTION_WORDS.trim().split(/\s+/));
const functionWords = new Set(FUNCTION_WORDS.trim().split(/\s+/));
const framingWords = new Set(FRAMING_WORDS.trim().split(/\s+/));

function isFunctionWord(word: string): boolean {
  return functionWords.has(word);
}

/** The weight of a word in a query, from 0 to 1, by its kind and not by its rarity in the catalog. */
export function queryWeight(word: string): number {
  if (functionWords.has(word)) return 0.05;
  const isFragment = word.length === 1 && word <= "z";
  return framingWords.has(word) || isFragment || /^[0-9]+$/.test(word) ? 0.4 : 1;
}

/** Whether a word is an action that any object can follow. */
export function isActionWord(word: string): boolean {
  return actionWords.has(word);
}
