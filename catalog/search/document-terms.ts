import type { Batch, InvertedIndex } from "./inverted-index.ts";
import { enlarged } from "./posting-lists.ts";
import type { FieldTexts } from "./searchable-text.ts";
import { Seams, WordTerms } from "./word-terms.ts";

/**
 * BM25F's fields, in the order of `FieldTexts`. `pivot` is the length, in words, at which a field counts as it is, and
 * `slope` how much more or less a shorter or longer one counts. The pivots are fixed, not averages over the catalog, so
 * that a tool's impacts do not depend on which other tools there are. In prose, words of grammar do not count.
 */
const FIELDS = [
  { field: "server", isProse: false, weight: 0.7, slope: 0.5, pivot: 2 },
  { field: "name", isProse: false, weight: 4.5, slope: 0.5, pivot: 3 },
  { field: "title", isProse: false, weight: 3, slope: 0.5, pivot: 3 },
  { field: "description", isProse: true, weight: 1, slope: 0.4, pivot: 25 },
  { field: "parameters", isProse: false, weight: 0.8, slope: 0.6, pivot: 6 },
  { field: "parameterDescriptions", isProse: true, weight: 0.5, slope: 0.6, pivot: 40 },
] as const;

/** How slowly a repeated word stops to count: BM25's k1. */
const SATURATION = 3;

/** More words than any real catalog has. With more, the remembered words are dropped. */
const MAX_WORDS = 100_000;

/** Adds tools to an index: their stems and words as they are written, each with its impact on the tool's score. */
export class DocumentTerms {
  readonly #index: InvertedIndex;
  readonly #words: WordTerms;
  readonly #seams: Seams;
  #batch = 0;
  /** The terms of the tool that is being added, and how much it has each of all terms. */
  readonly #present: number[] = [];
  #frequencies = new Float64Array(0);
  /** The last batch that had each term. */
  #batches = new Int32Array(0);

  constructor(index: InvertedIndex) {
    this.#index = index;
    this.#words = new WordTerms(index);
    this.#seams = new Seams(index, this.#words);
  }

  /** Adds one server's tools. Their slots are in the tools' order; their terms depend on these tools alone. */
  add(tools: readonly FieldTexts[]): Batch {
    if (this.#words.size > MAX_WORDS) this.#words.clear();
    this.#batch++;
    const { words, ends } = this.#readProse(tools);
    this.#seams.learn(words);
    const terms: number[] = [];
    let from = 0;
    let field = 0;
    const slots = tools.map((texts) => {
      for (const index of PROSE) {
        const to = ends[field++] as number;
        this.#addProse(index, words, from, to);
        from = to;
      }
      for (const index of LABELS) this.#addLabel(index, texts[index] as string);
      return this.#finish(terms);
    });
    return { slots, terms };
  }

  /** Removes what was added. */
  remove(batch: Batch): void {
    this.#index.remove(batch);
    // What is remembered of words holds their terms' numbers, and some of these may be free now.
    this.#words.clear();
  }

  /** The words of all prose, and where each field's end. */
  #readProse(tools: readonly FieldTexts[]) {
    const words: number[] = [];
    const ends: number[] = [];
    for (const texts of tools) {
      for (const index of PROSE) {
        this.#words.read(texts[index] as string, words);
        ends.push(words.length);
      }
    }
    return { words, ends };
  }

  #addProse(index: number, words: readonly number[], from: number, to: number): void {
    const { terms, starts, contentEnds } = this.#words;
    let count = 0;
    for (let at = from; at < to; at++) {
      const word = words[at] as number;
      count += (contentEnds[word] as number) - (starts[word] as number);
    }
    const unit = unitOf(index, count / 2);
    for (let at = from; at < to; at++) {
      const word = words[at] as number;
      this.#count(terms, starts[word] as number, contentEnds[word] as number, unit);
    }
  }

  /** A label's words may be written without seams: such a word counts with the known words that it is made of. */
  #addLabel(index: number, text: string): void {
    const words: number[] = [];
    this.#words.read(text, words);
    let count = 0;
    for (const word of words) count += this.#words.lengthOf(word) + this.#seams.termsWithin(word).length;
    const unit = unitOf(index, count / 2);
    const { terms, starts } = this.#words;
    for (const word of words) {
      this.#count(terms, starts[word] as number, starts[word + 1] as number, unit);
      const within = this.#seams.termsWithin(word);
      this.#count(within, 0, within.length, unit);
    }
  }

  #count(terms: ArrayLike<number>, from: number, to: number, unit: number): void {
    for (let at = from; at < to; at++) {
      const term = terms[at] as number;
      if (term >= this.#frequencies.length) this.#enlarge(term + 1);
      const frequency = this.#frequencies[term] as number;
      if (frequency === 0) this.#present.push(term);
      this.#frequencies[term] = frequency + unit;
    }
  }

  #enlarge(terms: number): void {
    this.#frequencies = enlarged(this.#frequencies, terms);
    this.#batches = enlarged(this.#batches, terms);
  }

  #finish(termsOfBatch: number[]): number {
    const slot = this.#index.takeSlot();
    for (const term of this.#present) {
      const frequency = this.#frequencies[term] as number;
      this.#index.add(term, slot, frequency / (SATURATION + frequency));
      this.#frequencies[term] = 0;
      if (this.#batches[term] === this.#batch) continue;
      this.#batches[term] = this.#batch;
      termsOfBatch.push(term);
    }
    this.#present.length = 0;
    return slot;
  }
}

const PROSE = [...FIELDS.keys()].filter((index) => FIELDS[index]?.isProse);
const LABELS = [...FIELDS.keys()].filter((index) => !FIELDS[index]?.isProse);

/** What each token of a field with so many of them counts. */
function unitOf(index: number, tokens: number): number {
  const { weight, slope, pivot } = FIELDS[index] as (typeof FIELDS)[number];
  return weight / (1 - slope + (slope * tokens) / pivot);
}
