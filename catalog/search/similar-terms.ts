import { editDistance, letterSet, mayBeWithin } from "./edit-distance.ts";
import { splitRunTogether } from "./split-run-together.ts";
import { tokenOf } from "./token.ts";

/** A term, and how much of a word's weight it gets. */
export interface SimilarTerm {
  term: string;
  likeness: number;
}

const MAX_SIMILAR = 4;
const MIN_PREFIX_CHARS = 4;
const PREFIX_LIKENESS = 0.5;
const MISSPELT_LIKENESS = 0.6;

/**
 * Terms of a vocabulary that a word which is not in it may mean: parts that it is made of, a misspelt word, a longer word
 * that it begins. A misspelling is looked for among words with the same first letter.
 */
export class SimilarTerms {
  /** Words as they are written, each with its letters, by first character and then by length. */
  readonly #words = new Map<string, Map<string, number>[]>();
  readonly #has: (word: string) => boolean;

  constructor(has: (word: string) => boolean) {
    this.#has = has;
  }

  add(word: string): void {
    const first = word.slice(0, 1);
    const byLength = this.#words.get(first) ?? [];
    if (byLength.length === 0) this.#words.set(first, byLength);
    // An array with holes would be slow to read.
    while (byLength.length <= word.length) byLength.push(new Map());
    byLength[word.length]?.set(word, letterSet(word));
  }

  delete(word: string): void {
    this.#words.get(word.slice(0, 1))?.[word.length]?.delete(word);
  }

  /** At most a few terms. */
  to(word: string): SimilarTerm[] {
    const parts = splitRunTogether(word, { has: this.#has });
    if (parts.length > 0) return parts.map((part) => ({ term: tokenOf(part).stem, likeness: 1 }));
    const misspelt = this.#nearest(word);
    if (misspelt.length > 0) return terms(misspelt, MISSPELT_LIKENESS);
    return terms(this.#longer(word), PREFIX_LIKENESS);
  }

  #nearest(word: string): string[] {
    let limit = word.length >= 8 ? 2 : word.length >= 5 ? 1 : 0;
    if (limit === 0 || word.length > 40) return [];
    let found: string[] = [];
    const letters = letterSet(word);
    for (let length = word.length - limit; length <= word.length + limit; length++) {
      for (const [candidate, itsLetters] of this.#words.get(word.slice(0, 1))?.[length] ?? []) {
        if (!mayBeWithin(limit, letters, itsLetters)) continue;
        const distance = editDistance(word, candidate, limit);
        if (distance > limit) continue;
        if (distance < limit) found = [];
        limit = distance;
        found.push(candidate);
      }
    }
    return found;
  }

  #longer(word: string): string[] {
    if (word.length < MIN_PREFIX_CHARS && /^[ -~]*$/.test(word)) return [];
    const byLength = this.#words.get(word.slice(0, 1)) ?? [];
    return byLength
      .slice(word.length + 1)
      .flatMap((candidates) => [...candidates.keys()].filter((each) => each.startsWith(word)));
  }
}

function terms(words: readonly string[], likeness: number): SimilarTerm[] {
  const distinct = new Set(
    [...words].sort((a, b) => a.length - b.length || (a < b ? -1 : 1)).map((word) => tokenOf(word).stem),
  );
  return [...distinct].slice(0, MAX_SIMILAR).map((term) => ({ term, likeness }));
}
