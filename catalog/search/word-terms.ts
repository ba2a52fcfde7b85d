import type { InvertedIndex } from "./inverted-index.ts";
import { enlarged } from "./posting-lists.ts";
import { splitRunTogether } from "./split-run-together.ts";
import { exactTerm, type Token, tokenOf } from "./token.ts";
import { rawWords, takeApart } from "./tokenize.ts";
import { WordTable } from "./word-table.ts";

/**
 * The words that texts are written in, by number, each with its terms: of each of its tokens the stem, and the token in
 * its form. They are in columns, one number beside the other, because indexing does little else than read them.
 */
export class WordTerms {
  readonly #index: InvertedIndex;
  readonly #table = new WordTable({ wordsOf: rawWords, numberOf: (raw) => this.#take(raw) });
  #parts: (readonly Token[])[] = [];
  /** A word's terms go from its start to the next word's start, those that are not of grammar to its content's end. */
  terms = new Int32Array(0);
  starts = new Int32Array(1);
  contentEnds = new Int32Array(0);

  constructor(index: InvertedIndex) {
    this.#index = index;
  }

  get size(): number {
    return this.#parts.length;
  }

  clear(): void {
    this.#table.clear();
    this.#parts = [];
  }

  /** Adds to `words` the numbers of a text's words, in order. */
  read(text: string, words: number[]): void {
    this.#table.read(text, words);
  }

  parts(word: number): readonly Token[] {
    return this.#parts[word] ?? [];
  }

  lengthOf(word: number): number {
    return (this.starts[word + 1] as number) - (this.starts[word] as number);
  }

  termsOf({ stem, exact }: Token): [number, number] {
    return [this.#index.numberOf(stem), this.#index.numberOf(exact)];
  }

  #take(raw: string): number {
    const { parts, tokens, content } = takeApart(raw);
    const word = this.#parts.push(parts) - 1;
    const start = this.starts[word] as number;
    const end = start + 2 * tokens.length;
    this.terms = enlarged(this.terms, end);
    this.starts = enlarged(this.starts, word + 2);
    this.contentEnds = enlarged(this.contentEnds, word + 1);
    this.starts[word + 1] = end;
    this.contentEnds[word] = start + 2 * content.length;
    const grammar =
      content.length === tokens.length ? [] : tokens.filter((token) => !content.includes(token));
    let at = start;
    for (const list of [content, grammar]) {
      for (const token of list) {
        this.terms[at++] = this.#index.numberOf(token.stem);
        this.terms[at++] = this.#index.numberOf(token.exact);
      }
    }
    return word;
  }
}

/** Splits words that are written without seams into the words that one server uses in prose. */
export class Seams {
  readonly #index: InvertedIndex;
  readonly #words: WordTerms;
  /** The last server's prose that had each word, and each term. */
  #proseOfWord = new Int32Array(0);
  #proseOfTerm = new Int32Array(0);
  #prose = 0;
  readonly #termsWithin = new Map<number, readonly number[]>();
  readonly #known = { has: (word: string) => this.#isKnown(word) };

  constructor(index: InvertedIndex, words: WordTerms) {
    this.#index = index;
    this.#words = words;
  }

  /** Takes these words of prose as the known ones from now on. */
  learn(prose: readonly number[]): void {
    const { size, terms, starts, contentEnds } = this.#words;
    this.#prose++;
    this.#termsWithin.clear();
    this.#proseOfWord = enlarged(this.#proseOfWord, size);
    this.#proseOfTerm = enlarged(this.#proseOfTerm, this.#index.termCount);
    for (const word of prose) {
      if (this.#proseOfWord[word] === this.#prose) continue;
      this.#proseOfWord[word] = this.#prose;
      const end = contentEnds[word] as number;
      for (let at = starts[word] as number; at < end; at++)
        this.#proseOfTerm[terms[at] as number] = this.#prose;
    }
  }

  termsWithin(word: number): readonly number[] {
    const found = this.#termsWithin.get(word);
    if (found !== undefined) return found;
    const within = this.#words.parts(word).flatMap(({ text }) => splitRunTogether(text, this.#known));
    const terms = within.flatMap((text) => this.#words.termsOf(tokenOf(text)));
    this.#termsWithin.set(word, terms);
    return terms;
  }

  #isKnown(word: string): boolean {
    const term = this.#index.find(exactTerm(word));
    return term !== undefined && this.#proseOfTerm[term] === this.#prose;
  }
}
