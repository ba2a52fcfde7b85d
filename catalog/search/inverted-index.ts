import type { FieldTexts } from "./searchable-text.ts";
import { SimilarTerms } from "./similar-names.ts";
import { exactTerm, exactWord, rawWords, splitRunTogether, type Token, takeApart, tokenOf } from "./words.ts";

/** Documents that were added together, and the numbers of all their terms. */
export interface Batch {
  readonly slots: readonly number[];
  readonly terms: readonly number[];
}

/**
 * Documents by term. A document occupies a slot, a small number that a later document may reuse, and a term has such a number
 * too. An impact depends only on its own document, so adding and removing do not change other documents.
 */
export class InvertedIndex {
  /** The words of documents, as written. */
  readonly similar = new SimilarTerms((word) => this.posting(exactTerm(word)) !== undefined);
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];
  readonly #freeNumbers: number[] = [];
  readonly #postings = new PostingLists();
  readonly #freeSlots: number[] = [];
  #slotCount = 0;

  /** One more than the largest slot that was ever used. */
  get slotCount(): number {
    return this.#slotCount;
  }

  /** One more than the largest number that a term ever had. */
  get termCount(): number {
    return this.#texts.length;
  }

  takeSlot(): number {
    return this.#freeSlots.pop() ?? this.#slotCount++;
  }

  find(text: string): number | undefined {
    return this.#numbers.get(text);
  }

  /** The number of a term, which may have no documents yet. */
  numberOf(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#freeNumbers.pop() ?? this.#texts.length;
    this.#texts[number] = text;
    this.#numbers.set(text, number);
    return number;
  }

  add(term: number, slot: number, impact: number): void {
    if (!this.#postings.add(term, slot, impact)) return;
    const word = exactWord(this.#texts[term] as string);
    if (word !== undefined) this.similar.add(word);
  }

  /** Removes a batch. Numbers of terms without documents may be reused. */
  remove({ slots, terms }: Batch): void {
    const isGone = new Uint8Array(this.#slotCount);
    for (const slot of slots) {
      isGone[slot] = 1;
      this.#freeSlots.push(slot);
    }
    for (const term of terms) {
      if (!this.#postings.remove(term, isGone)) continue;
      const text = this.#texts[term] as string;
      this.#numbers.delete(text);
      this.#freeNumbers.push(term);
      const word = exactWord(text);
      if (word !== undefined) this.similar.delete(word);
    }
  }

  posting(text: string): Posting | undefined {
    const term = this.#numbers.get(text);
    return term === undefined ? undefined : this.#postings.get(term);
  }
}

/** The documents with a term and its impacts, as two columns of equal length. Valid until the lists change. */
export interface Posting {
  readonly slots: Int32Array;
  readonly impacts: Float64Array;
}

/** The numbers that describe a list: its start, its length, and its capacity. */
const LIST_STRIDE = 3;

/**
 * Lists of postings by number, all in two arrays. With a separate object for each term of a large catalog, allocation and
 * garbage collection would take longer than filling the lists. A full list moves to a place with twice the capacity.
 */
export class PostingLists {
  #lists = new Int32Array(1 << 12);
  #slots = new Int32Array(1 << 14);
  #impacts = new Float64Array(1 << 14);
  #used = 0;
  /** Places that lists have left, by the binary logarithm of their capacity. */
  readonly #vacant: number[][] = Array.from({ length: 32 }, () => []);

  /** Returns whether the list was empty. */
  add(list: number, slot: number, impact: number): boolean {
    const at = list * LIST_STRIDE;
    if (at + LIST_STRIDE > this.#lists.length) this.#lists = enlarged(this.#lists, at + LIST_STRIDE);
    const length = this.#lists[at + 1] as number;
    if (length === this.#lists[at + 2]) this.#move(at, length === 0 ? 1 : Math.max(4, length * 2));
    const place = (this.#lists[at] as number) + length;
    this.#slots[place] = slot;
    this.#impacts[place] = impact;
    this.#lists[at + 1] = length + 1;
    return length === 0;
  }

  /** Removes the postings of slots from a list. Returns whether the list is now empty. */
  remove(list: number, isGone: Uint8Array): boolean {
    const at = list * LIST_STRIDE;
    const from = this.#lists[at] as number;
    const to = from + (this.#lists[at + 1] as number);
    let kept = from;
    for (let place = from; place < to; place++) {
      const slot = this.#slots[place] as number;
      if (isGone[slot] === 1) continue;
      this.#slots[kept] = slot;
      this.#impacts[kept] = this.#impacts[place] as number;
      kept++;
    }
    this.#lists[at + 1] = kept - from;
    if (kept === from) this.#vacate(at);
    return kept === from;
  }

  /** A list, if it is not empty. */
  get(list: number): Posting | undefined {
    const at = list * LIST_STRIDE;
    const from = this.#lists[at] ?? 0;
    const to = from + (this.#lists[at + 1] ?? 0);
    if (to === from) return undefined;
    return { slots: this.#slots.subarray(from, to), impacts: this.#impacts.subarray(from, to) };
  }

  #move(at: number, room: number): void {
    const from = this.#lists[at] as number;
    const to = from + (this.#lists[at + 1] as number);
    const target = this.#vacant[log2(room)]?.pop() ?? this.#allocate(room);
    this.#slots.copyWithin(target, from, to);
    this.#impacts.copyWithin(target, from, to);
    this.#vacate(at);
    this.#lists[at] = target;
    this.#lists[at + 2] = room;
  }

  #vacate(at: number): void {
    const room = this.#lists[at + 2] as number;
    if (room > 0) this.#vacant[log2(room)]?.push(this.#lists[at] as number);
    this.#lists[at + 2] = 0;
  }

  #allocate(room: number): number {
    const target = this.#used;
    this.#used += room;
    this.#slots = enlarged(this.#slots, this.#used);
    this.#impacts = enlarged(this.#impacts, this.#used);
    return target;
  }
}

function log2(powerOfTwo: number): number {
  return 31 - Math.clz32(powerOfTwo);
}

/** Returns an array of at least the given length with the same numbers. A new array has spare capacity. */
function enlarged<Numbers extends Int32Array | Float64Array>(numbers: Numbers, length: number): Numbers {
  if (length <= numbers.length) return numbers;
  const larger = new (numbers.constructor as new (length: number) => Numbers)(length * 2);
  larger.set(numbers);
  return larger;
}

/**
 * BM25F's fields, in the order of `FieldTexts`. `pivot` is the length, in words, at which a field has its plain weight, and
 * `slope` determines how much more or less a shorter or longer field counts. The pivots are fixed, not averages over the
 * catalog, so that a tool's impacts do not depend on other tools. In prose, words of grammar do not count.
 */
const FIELDS = [
  { field: "server", isProse: false, weight: 0.7, slope: 0.5, pivot: 2 },
  { field: "name", isProse: false, weight: 4.5, slope: 0.5, pivot: 3 },
  { field: "title", isProse: false, weight: 3, slope: 0.5, pivot: 3 },
  { field: "description", isProse: true, weight: 1, slope: 0.4, pivot: 25 },
  { field: "parameters", isProse: false, weight: 0.8, slope: 0.6, pivot: 6 },
  { field: "parameterDescriptions", isProse: true, weight: 0.5, slope: 0.6, pivot: 40 },
] as const;

/** How slowly repetitions of a word lose weight: BM25's k1. */
const SATURATION = 3;

/** More words than any real catalog has. Beyond that, the cached words are dropped. */
const MAX_WORDS = 100_000;

/** Adds tools to an index: their stems and their words as written, each with its impact on the tool's score. */
export class DocumentTerms {
  readonly #index: InvertedIndex;
  readonly #words: WordTerms;
  readonly #seams: Seams;
  #batch = 0;
  /** The terms of the tool that is being added, and its frequency of every term. */
  readonly #present: number[] = [];
  #frequencies = new Float64Array(0);
  /** The last batch that had each term. */
  #batches = new Int32Array(0);

  constructor(index: InvertedIndex) {
    this.#index = index;
    this.#words = new WordTerms(index);
    this.#seams = new Seams(index, this.#words);
  }

  /** Adds one server's tools. Their slots are in the tools' order. Their terms depend only on these tools. */
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

  /** Removes a batch. */
  remove(batch: Batch): void {
    this.#index.remove(batch);
    // The cached words contain numbers of terms, some of which may now be free.
    this.#words.clear();
  }

  /** The words of all prose, and the end of each field in them. */
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

  /** Adds a label. A word of a label that joins known words counts together with these words. */
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

/** The weight of each token of a field with a number of tokens. */
function unitOf(index: number, tokens: number): number {
  const { weight, slope, pivot } = FIELDS[index] as (typeof FIELDS)[number];
  return weight / (1 - slope + (slope * tokens) / pivot);
}

/**
 * The words of texts, by number, each with its terms: the stem and the exact form of each token. They are in columns of
 * numbers, because indexing mostly reads them.
 */
class WordTerms {
  readonly #index: InvertedIndex;
  readonly #table = new WordTable({ wordsOf: rawWords, numberOf: (raw) => this.#take(raw) });
  #parts: (readonly Token[])[] = [];
  /** A word's terms extend from its start to the next word's start. Terms that are not of grammar extend to its content's end. */
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

/** Splits joined words into the words that one server uses in prose. */
class Seams {
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

  /** Replaces the known words by these words of prose. */
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

/** Matches characters that may be part of a word after folding accents and compatibility forms. Dashes, quotes and arrows may not. */
const NOT_PLAIN = /[^\p{ASCII}\u2010-\u2027\u2190-\u21ff]/u;

const HYPHEN = 0x2d;
const IS_WORD_BYTE = Uint8Array.from({ length: 0x100 }, (_, byte) =>
  /[A-Za-z0-9]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** Longer words are data, not language, and are not cached. */
const MAX_BYTES = 64;

/** The most places where a word is looked up, so that words with deliberately equal hashes cost little more than others. */
const PROBES = 32;
const MIN_PLACES = 1 << 12;
const MAX_PLACES = 1 << 17;

/** The numbers in a place: the word's hash, the start and number of its bytes, and its number plus one. */
const PLACE_STRIDE = 4;

/** Finds words in a text that has more than plain letters, and the number of a word. */
interface Reading {
  wordsOf(text: string): Iterable<string>;
  numberOf(word: string): number;
}

/**
 * Caches the number of each word. Words are few and repeat often. Finding a word by its bytes, without making a string, makes
 * indexing fast. The table is emptied when a hostile catalog exceeds it.
 */
export class WordTable {
  readonly #reading: Reading;
  #places = new Int32Array(0);
  #size = 0;
  #bytes = new Uint8Array(0);
  #usedBytes = 0;
  /** The bytes of the text that is being read. */
  #text = Buffer.alloc(1 << 10);

  constructor(reading: Reading) {
    this.#reading = reading;
    this.clear();
  }

  clear(): void {
    this.#places = new Int32Array(MIN_PLACES * PLACE_STRIDE);
    this.#bytes = new Uint8Array(MIN_PLACES * 8);
    this.#size = 0;
    this.#usedBytes = 0;
  }

  /** Adds the numbers of a text's words to `numbers`, in order. */
  read(text: string, numbers: number[]): void {
    if (NOT_PLAIN.test(text)) {
      for (const word of this.#reading.wordsOf(text)) {
        const length = this.#encode(word);
        let hash = 0;
        for (let index = 0; index < length; index++) hash = mix(hash, this.#text[index] as number);
        numbers.push(this.#numberOf(0, length, hash));
      }
      return;
    }
    const length = this.#encode(text);
    const bytes = this.#text;
    // Otherwise a leftover byte would count as the text's next character.
    bytes[length] = 0;
    let end = 0;
    for (let start = 0; start < length; start = end + 1) {
      let hash = 0;
      for (end = start; isPart(bytes, end, start); end++) hash = mix(hash, bytes[end] as number);
      if (end > start) numbers.push(this.#numberOf(start, end, hash));
    }
  }

  #encode(text: string): number {
    if (text.length * 3 >= this.#text.length) this.#text = Buffer.alloc(text.length * 6);
    return this.#text.write(text);
  }

  #numberOf(start: number, end: number, hash: number): number {
    const places = this.#places;
    for (let probe = 0; probe < PROBES; probe++) {
      const place = (((hash ^ (hash >>> 15)) + probe) * PLACE_STRIDE) & (places.length - 1);
      const position = places[place + 3] as number;
      if (position === 0) return this.#remember(start, end, hash);
      if (places[place] === hash && this.#isWord(place, start, end)) return position - 1;
    }
    return this.#takeApart(start, end);
  }

  #isWord(place: number, start: number, end: number): boolean {
    const from = this.#places[place + 1] as number;
    const length = end - start;
    if (this.#places[place + 2] !== length) return false;
    const bytes = this.#bytes;
    const text = this.#text;
    for (let index = 0; index < length; index++) {
      if (bytes[from + index] !== text[start + index]) return false;
    }
    return true;
  }

  #takeApart(start: number, end: number): number {
    return this.#reading.numberOf(this.#text.toString("utf8", start, end));
  }

  #remember(start: number, end: number, hash: number): number {
    const number = this.#takeApart(start, end);
    const length = end - start;
    if (length > MAX_BYTES) return number;
    this.#makeRoom(length);
    this.#bytes.set(this.#text.subarray(start, end), this.#usedBytes);
    put(this.#places, hash, this.#usedBytes, length, number + 1);
    this.#usedBytes += length;
    this.#size++;
    return number;
  }

  #makeRoom(bytes: number): void {
    const places = this.#places.length / PLACE_STRIDE;
    if (this.#size * 2 >= places) {
      if (places === MAX_PLACES) this.clear();
      else this.#places = spread(this.#places);
    }
    if (this.#usedBytes + bytes > this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
  }
}

/** Puts a word into its first free place. Without a free place, the word is not cached. */
function put(places: Int32Array, hash: number, from: number, length: number, position: number): void {
  for (let probe = 0; probe < PROBES; probe++) {
    const place = (((hash ^ (hash >>> 15)) + probe) * PLACE_STRIDE) & (places.length - 1);
    if (places[place + 3] !== 0) continue;
    places[place] = hash;
    places[place + 1] = from;
    places[place + 2] = length;
    places[place + 3] = position;
    return;
  }
}

/** A table of the same words with twice as many places. */
function spread(places: Int32Array): Int32Array<ArrayBuffer> {
  const wider = new Int32Array(places.length * 2);
  for (let place = 0; place < places.length; place += PLACE_STRIDE) {
    const position = places[place + 3] as number;
    if (position === 0) continue;
    put(wider, places[place] as number, places[place + 1] as number, places[place + 2] as number, position);
  }
  return wider;
}

/** Whether a byte is part of a word. A hyphen between letters or digits is. */
function isPart(bytes: Uint8Array, index: number, start: number): boolean {
  const byte = bytes[index] as number;
  if (IS_WORD_BYTE[byte] === 1) return true;
  return byte === HYPHEN && index > start && IS_WORD_BYTE[bytes[index + 1] as number] === 1;
}

function mix(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}
