import type { Posting } from "./inverted-index.ts";
import type { SimilarTerm } from "./similar-names.ts";
import { exactTerm, isActionWord, queryWeight, type Token, tokenize, tokenOf, type Word } from "./words.ts";

/** One clause of a query. */
interface Clause {
  /** Its terms, each with how much it counts. */
  readonly terms: ReadonlyMap<string, number>;
  /** Whether it names an object. A clause without one, such as "search" before "and delete files", is not a need by itself. */
  readonly hasSubject: boolean;
}

/** A meaningful word of a query, and its terms in the index. */
interface QueryWord {
  readonly text: string;
  readonly terms: readonly string[];
}

interface ParsedQuery {
  /** The clauses with a word that is in the index. */
  readonly clauses: readonly Clause[];
  /** For every clause, its meaningful words, each once. */
  readonly words: readonly (readonly QueryWord[])[];
}

/** The vocabulary of the index, as queries use it. */
interface Vocabulary {
  has(term: string): boolean;
  /** The terms that a word outside of the index may mean. */
  similarTo(word: string): readonly SimilarTerm[];
}

/** Bounds of a query. Search ignores everything beyond them. */
const MAX_QUERY_CHARS = 4_000;
const MAX_WORDS = 400;
const MAX_CLAUSES = 24;
const MAX_UNKNOWN_WORDS = 8;

/** The weight that a word's exact form adds to that of its stem. */
const EXACT_FORM_WEIGHT = 0.2;

const CLAUSE_END = /[.!?;,\n]+\s+|[。！？；，、]+|\b(?:and|then|also)\b/;

/**
 * The terms of a text that may be in the index, clause by clause, because a long query often names several needs. The time is
 * bounded for any text.
 */
export function parseQuery(text: string, vocabulary: Vocabulary): ParsedQuery {
  const clauses: { terms: Map<string, number>; hasSubject: boolean }[] = [];
  const wordsOfClauses: QueryWord[][] = [];
  let words = 0;
  let unknownWords = 0;
  for (const clauseText of text.slice(0, MAX_QUERY_CHARS).split(CLAUSE_END)) {
    const last = clauses.length < MAX_CLAUSES ? undefined : clauses.at(-1);
    const clause = last ?? { terms: new Map<string, number>(), hasSubject: false };
    const telling = new Map<string, { text: string; terms: string[] }>();
    for (const { token, joins = [] } of queryTokens(tokenize(clauseText), vocabulary)) {
      if (words++ >= MAX_WORDS) break;
      const weight = queryWeight(token.text);
      const terms: string[] = [];
      if (vocabulary.has(token.stem)) {
        raise(clause.terms, token.stem, weight);
        raise(clause.terms, token.exact, weight * EXACT_FORM_WEIGHT);
        terms.push(token.stem);
      } else if (unknownWords++ < MAX_UNKNOWN_WORDS) {
        for (const { term, likeness } of vocabulary.similarTo(token.text)) {
          raise(clause.terms, term, weight * likeness);
          terms.push(term);
        }
      }
      if (joins.length > 0) for (const part of joins) telling.get(part)?.terms.push(...terms);
      else if (weight === 1) telling.set(token.text, { text: token.text, terms });
    }
    wordsOfClauses.push([...telling.values()]);
    if ([...telling.keys()].some((word) => !isActionWord(word))) clause.hasSubject = true;
    if (clause.terms.size > 0 && clause !== last) clauses.push(clause);
  }
  return { clauses, words: wordsOfClauses };
}

/** The words to look for. A word of several parts counts as a whole if the index knows it, and known neighbours are joined. */
function* queryTokens(
  words: readonly Word[],
  vocabulary: Vocabulary,
): Generator<{ token: Token; joins?: readonly string[] }> {
  let previous = "";
  for (const { parts, whole } of words) {
    const isWholeKnown = whole !== undefined && vocabulary.has(whole.exact);
    for (const token of isWholeKnown ? [whole] : parts) {
      yield { token };
      const joined = previous + token.text;
      if (previous !== "" && vocabulary.has(exactTerm(joined)))
        yield { token: tokenOf(joined), joins: [previous, token.text] };
      previous = token.text;
    }
  }
}

function raise(terms: Map<string, number>, term: string, weight: number): void {
  terms.set(term, Math.max(weight, terms.get(term) ?? 0));
}

/** In a query of at most this many words, every word matters. In a longer text, most words are circumstances. */
const MAX_WORDS_OF_A_NEED = 4;
/** The share of a need that a tool's only matching word must have. */
const MIN_SHARE = 0.45;
/** The weight of a word that names an action and not its object: a tool that sends something else does not fit. */
const ACTION_WEIGHT = 0.5;
/**
 * A word with less impact than this counts for less. It occurs only in the descriptions of parameters, or once in a long text,
 * and describes the input of the tool, not its purpose.
 */
const SUBJECT_IMPACT = 0.22;
const PASSING_WEIGHT = 0.5;
/** The number of the best tools to look at. */
const LOOKED_AT = 3;

interface Documents {
  /** The documents that have a term, with its impacts. */
  posting(term: string): Posting | undefined;
  readonly documents: number;
}

/**
 * Whether one of the best documents fits a query. It does not fit if it has none of the query's meaningful words, or if it has
 * only one word of a short query and the missing words carry most of the weight. Words weigh by how rare they are. A word that no
 * document has weighs like the rarest. In doubt, a document fits.
 */
export function fitsQuery(
  clauses: readonly (readonly QueryWord[])[],
  best: readonly number[],
  index: Documents,
): boolean {
  const count = new Set(clauses.flat().map(({ text }) => text)).size;
  if (count === 0) return true;
  return clauses.some((words) => {
    const counted = words.map(({ text, terms }) => {
      const postings = terms.flatMap((term) => index.posting(term) ?? []);
      const rarity = rarityOf(Math.max(1, ...postings.map(({ slots }) => slots.length)), index);
      return { postings, rarity: isActionWord(text) ? ACTION_WEIGHT * rarity : rarity };
    });
    const all = counted.reduce((sum, { rarity }) => sum + rarity, 0);
    return best.slice(0, LOOKED_AT).some((slot) => {
      const has = counted.flatMap(({ postings, rarity }) => {
        const impact = Math.max(0, ...postings.map((posting) => impactOn(slot, posting)));
        return impact === 0 ? [] : [{ rarity, isSubject: impact >= SUBJECT_IMPACT }];
      });
      if (has.length === 0) return false;
      const share =
        has.reduce((sum, { rarity, isSubject }) => sum + (isSubject ? rarity : PASSING_WEIGHT * rarity), 0) /
        all;
      return (
        count > MAX_WORDS_OF_A_NEED ||
        (has.length > 1 && has.some(({ isSubject }) => isSubject)) ||
        share >= MIN_SHARE
      );
    });
  });
}

function impactOn(slot: number, { slots, impacts }: Posting): number {
  const at = slots.indexOf(slot);
  return at < 0 ? 0 : (impacts[at] as number);
}

/**
 * How much of a query a document covers, from 0 to 1: the share of the meaningful words, weighted by rarity, in the clause that
 * it covers best. 0 if no clause has two such words, because a single word may be in a document by chance.
 */
export function coverageOf(
  clauses: readonly (readonly QueryWord[])[],
  document: number,
  index: Documents,
): number {
  const shares = clauses.map((words) => {
    if (words.length < 2) return 0;
    let has = 0;
    let all = 0;
    for (const { terms } of words) {
      const postings = terms.flatMap((term) => index.posting(term)?.slots ?? []);
      const rarity = rarityOf(Math.max(1, ...postings.map(({ length }) => length)), index);
      all += rarity;
      if (postings.some((slots) => slots.includes(document))) has += rarity;
    }
    return all === 0 ? 0 : has / all;
  });
  return Math.max(0, ...shares);
}

function rarityOf(having: number, { documents }: Documents): number {
  return Math.log(1 + Math.max(0, documents - having + 0.5) / (having + 0.5));
}
