import { FoldedText, readings, WORD_START } from "./folded-text.ts";

/**
 * Indexes texts by content, so that a value can be traced back to the texts that contain it. Each word of a text is entered under
 * its first eight characters (including those of the following words) and under the word alone. A look-up takes two table accesses,
 * however much has been read.
 */

/** The fewest folded characters that count as common to two texts, unless whole words are the same. */
const GRAM = 8;
/** The number of places examined, the latest first, for the same beginning and for a single word. */
const MAX_PLACES = 32;
const MAX_PLACES_OF_WORD = 8;

/** For each offset between a text and the index: up to where they are known to be the same. */
type Known = Map<number, number>;

/** A piece of a text that also occurs in an indexed text. */
export interface Found {
  /** The source of the indexed text, as given to `add`. */
  readonly source: number;
  /** The range of folded characters in the text that was looked up. */
  readonly from: number;
  readonly to: number;
  /** The same, reduced to words that begin and end in both texts and are separated in the same way; may be empty. */
  readonly wholeFrom: number;
  readonly wholeTo: number;
}

export class OriginIndex {
  readonly #text = new FoldedText(1024);
  readonly #maxChars: number;
  /** Where each text begins, and its source. */
  readonly #starts: number[] = [];
  readonly #sources: number[] = [];
  #places = new Int32Array(256);
  #nextGram = new Int32Array(256);
  #nextWord = new Int32Array(256);
  #grams = new Int32Array(512).fill(-1);
  #words = new Int32Array(512).fill(-1);
  #count = 0;

  /** @param maxChars the maximum number of characters of all texts together. */
  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** The number of characters in it. */
  get size(): number {
    return this.#text.length;
  }

  /** Adds a text in all of its readings. Returns false if there is no room for all of them. */
  add(text: string, source: number): boolean {
    if (this.size + text.length > this.#maxChars) return false;
    for (const reading of readings(text)) {
      if (this.size + reading.length > this.#maxChars) return false;
      this.#addReading(reading, source);
    }
    return true;
  }

  #addReading(reading: string, source: number): void {
    const text = this.#text;
    const start = text.length;
    const chars = text.push(reading);
    if (chars === 0) return;
    this.#starts.push(start);
    this.#sources.push(source);
    const { codes, flags } = text;
    const end = start + chars;
    for (let at = start; at < end; at++) {
      if (((flags[at] ?? 0) & WORD_START) === 0) continue;
      let wordEnd = at + 1;
      while (((flags[wordEnd] ?? 1) & WORD_START) === 0) wordEnd++;
      this.#enter(at, hashOf(codes, at, Math.min(at + GRAM, end)), hashOf(codes, at, wordEnd));
    }
  }

  #enter(place: number, gram: number, word: number): void {
    if (this.#count === this.#places.length) this.#grow();
    const entry = this.#count++;
    this.#places[entry] = place;
    const mask = this.#grams.length - 1;
    this.#nextGram[entry] = this.#grams[gram & mask] ?? -1;
    this.#grams[gram & mask] = entry;
    this.#nextWord[entry] = this.#words[word & mask] ?? -1;
    this.#words[word & mask] = entry;
  }

  #grow(): void {
    const size = this.#count * 2;
    const grown = (old: Int32Array) => {
      const larger = new Int32Array(size);
      larger.set(old);
      return larger;
    };
    this.#places = grown(this.#places);
    const count = this.#count;
    this.#nextGram = new Int32Array(size);
    this.#nextWord = new Int32Array(size);
    this.#grams = new Int32Array(size * 2).fill(-1);
    this.#words = new Int32Array(size * 2).fill(-1);
    this.#count = 0;
    const { codes, flags } = this.#text;
    for (let entry = 0; entry < count; entry++) {
      const at = this.#places[entry] ?? 0;
      let end = at;
      while (end < at + GRAM && codes[end] !== 0) end++;
      let wordEnd = at + 1;
      while (((flags[wordEnd] ?? 1) & WORD_START) === 0) wordEnd++;
      this.#enter(at, hashOf(codes, at, end), hashOf(codes, at, wordEnd));
    }
  }

  /**
   * Reports pieces that a text has in common with indexed texts: runs of eight or more folded characters, and whole words. The
   * listener returns true to stop.
   *
   * @param everywhere whether to find runs that begin within a word, too; else only those that begin with a word.
   */
  find(text: FoldedText, onFound: (found: Found) => boolean, everywhere: boolean): void {
    const { codes, flags } = text;
    const end = text.length - 1;
    // A run is found at each of its words, but reported once: this says how far the texts are known to match at each offset.
    const known: Known = new Map();
    for (let at = 0; at < end; at++) {
      if (codes[at] === 0) continue;
      const isWord = ((flags[at] ?? 0) & WORD_START) !== 0;
      if (!isWord && !everywhere) continue;
      if (this.#findRuns(text, at, known, onFound)) return;
      if (isWord && this.#findWords(text, at, known, onFound)) return;
    }
  }

  #findRuns(text: FoldedText, at: number, known: Known, onFound: (found: Found) => boolean): boolean {
    const { codes } = text;
    for (let index = at; index < at + GRAM; index++)
      if (index >= text.length || codes[index] === 0) return false;
    const own = this.#text.codes;
    let seen = 0;
    let entry = this.#grams[hashOf(codes, at, at + GRAM) & (this.#grams.length - 1)] ?? -1;
    for (; entry >= 0 && seen < MAX_PLACES; entry = this.#nextGram[entry] ?? -1) {
      const place = this.#places[entry] ?? 0;
      if ((known.get(place - at) ?? 0) > at) {
        seen++;
        continue;
      }
      let length = 0;
      while (codes[at + length] !== 0 && codes[at + length] === own[place + length]) length++;
      if (length < GRAM) continue;
      seen++;
      known.set(place - at, at + length);
      let before = 0;
      while (
        at - before > 0 &&
        place - before > 0 &&
        codes[at - before - 1] !== 0 &&
        codes[at - before - 1] === own[place - before - 1]
      )
        before++;
      if (onFound(this.#found(text, at - before, place - before, length + before))) return true;
    }
    return false;
  }

  /** Finds whole words that are too short for a run. */
  #findWords(text: FoldedText, at: number, known: Known, onFound: (found: Found) => boolean): boolean {
    const { codes, flags } = text;
    let wordEnd = at + 1;
    while (((flags[wordEnd] ?? 1) & WORD_START) === 0) wordEnd++;
    const own = this.#text;
    let seen = 0;
    let entry = this.#words[hashOf(codes, at, wordEnd) & (this.#words.length - 1)] ?? -1;
    for (; entry >= 0 && seen < MAX_PLACES_OF_WORD; entry = this.#nextWord[entry] ?? -1) {
      const place = this.#places[entry] ?? 0;
      if ((known.get(place - at) ?? 0) > at) {
        seen++;
        continue;
      }
      let length = 0;
      while (at + length < wordEnd && codes[at + length] === own.codes[place + length]) length++;
      if (at + length < wordEnd || ((own.flags[place + length] ?? 1) & WORD_START) === 0) continue;
      seen++;
      while (codes[at + length] !== 0 && codes[at + length] === own.codes[place + length]) length++;
      known.set(place - at, at + length);
      if (onFound(this.#found(text, at, place, length))) return true;
    }
    return false;
  }

  #found(text: FoldedText, from: number, place: number, length: number): Found {
    const { codes, flags } = text;
    const own = this.#text;
    const isEdge = (index: number) =>
      ((flags[from + index] ?? 1) & WORD_START) !== 0 && ((own.flags[place + index] ?? 1) & WORD_START) !== 0;
    let first = 0;
    while (first < length && !isEdge(first)) first++;
    let last = first;
    // Words must end at the same places in both texts, unless digits are grouped differently.
    for (let index = first + 1; index <= length; index++) {
      if (isEdge(index)) last = index;
      else if (
        index < length &&
        ((flags[from + index] ?? 0) & WORD_START) !== ((own.flags[place + index] ?? 0) & WORD_START) &&
        !isDigit(codes[from + index]) &&
        !isDigit(codes[from + index - 1])
      )
        break;
    }
    return {
      source: this.#sourceAt(place),
      from,
      to: from + length,
      wholeFrom: from + first,
      wholeTo: from + last,
    };
  }

  #sourceAt(place: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#starts[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return this.#sources[low] ?? 0;
  }
}

function isDigit(code = 0): boolean {
  return code >= 48 && code <= 57;
}

/** FNV-1a over folded characters. */
function hashOf(codes: Uint16Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (codes[at] ?? 0), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
