import { stem } from "porter2";

/** A word as it is compared: lower case, without accents. There is one object for each text while it is remembered. */
export interface Token {
  readonly text: string;
  /** The index term of all forms of an English word; any other word's is the word itself. */
  readonly stem: string;
  /** The index term of the word in just this form. */
  readonly exact: string;
}

const EXACT = "=";
const ENGLISH_WORD = /^[a-z]{3,}$/;

/** Longer words are data, not language: only so much of them counts. */
const MAX_CHARS = 64;

export function tokenOf(word: string): Token {
  const text = word.slice(0, MAX_CHARS).toLowerCase();
  return { text, stem: ENGLISH_WORD.test(text) ? stem(text) : text, exact: exactTerm(text) };
}

/** The index term of a lower-case word in just this form. */
export function exactTerm(text: string): string {
  return EXACT + text;
}

/** The word of which a term is the exact one, if it is one. */
export function exactWord(term: string): string | undefined {
  return term.startsWith(EXACT) ? term.slice(EXACT.length) : undefined;
}
