import { isActionWord, queryWeight } from "./common-words.ts";
import type { SimilarTerm } from "./similar-terms.ts";
import { exactTerm, type Token, tokenOf } from "./token.ts";
import { tokenize, type Word } from "./tokenize.ts";

/** One clause of a query. */
interface Clause {
  /** Its terms, each with how much it counts. */
  readonly terms: ReadonlyMap<string, number>;
  /** Whether it says to what something is done. One that does not, such as "search" before "and delete files", is no need by itself. */
  readonly hasSubject: boolean;
}

/** A word of a query that says something of what is meant, and the terms that stand for it in the index. */
export interface QueryWord {
  readonly text: string;
  readonly terms: readonly string[];
}

export interface ParsedQuery {
  /** Clauses of which the index has a word. */
  readonly clauses: readonly Clause[];
  /** Of every clause, the words that say something, each once. */
  readonly words: readonly (readonly QueryWord[])[];
}

/** What a query may ask of the index's vocabulary. */
interface Vocabulary {
  has(term: string): boolean;
  /** Terms that a word which the index does not have may mean. */
  similarTo(word: string): readonly SimilarTerm[];
}

/** What lies beyond these bounds of a query is not looked for. */
const MAX_QUERY_CHARS = 4_000;
const MAX_WORDS = 400;
const MAX_CLAUSES = 24;
const MAX_UNKNOWN_WORDS = 8;

/** How much a word in its very form adds to what its stem counts. */
const EXACT_FORM_WEIGHT = 0.2;

const CLAUSE_END = /[.!?;,\n]+\s+|[。！？；，、]+|\b(?:and|then|also)\b/;

/**
 * The terms of a text that the index may hold, clause by clause: a long query often names several needs. Bounded in time
 * whatever the text is.
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

/** The words to look for: a word of several parts as a whole where the index knows that, and known neighbours joined. */
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
