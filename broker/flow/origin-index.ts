import { FoldedText, isDigit, readings, UPPER, WORD_START } from "./folded-text.ts";

/**
 * Indexes texts by content, so that a value can be traced back to the texts that contain it. Each word of a text is entered under
 * its first eight characters (including those of the following words) and under the word alone. A look-up takes a few table accesses,
 * however much has been read. Texts are entered, and values looked up, in steps with bounds, because both may be long.
 */

/** The fewest folded characters that count as common to two texts, unless whole words are the same. */
const GRAM = 8;
/** The number of places examined, the latest first, for the same beginning and for a single word. */
const MAX_PLACES = 32;
const MAX_PLACES_OF_WORD = 8;
/** The first table of an index is small, and each further one twice as large up to a bound, so that no table is ever built anew. */
const FIRST_TABLE = 256;
const MAX_TABLE = 65_536;
/**
 * A search that compares more characters than these, and than so many for each of its own, ends without having found everything. What is
 * made of a found piece counts as well, once for each of its characters.
 */
const MIN_COMPARED = 50_000;
const COMPARED_PER_CHAR = 96;
/** A step of a search ends once it has compared so many, however few characters it has gone on by. */
const MAX_COMPARED_IN_STEP = 20_000;
/** How much of a text is entered in one step, in characters, and how much of it is repeated in the next to be decoded there too. */
const STEP_CHARS = 16_384;
const STEP_OVERLAP = 256;
/** In a value of so many digits the spaces and hyphens between groups do not count. */
const MIN_GROUPED_DIGITS = 9;

/** For each offset between a text and the index: up to where they are known to be the same. */
type Known = Map<number, number>;

/** A range of folded characters in the text that was looked up. */
export interface Piece {
  readonly from: number;
  readonly to: number;
}

/** A piece of a text that also occurs in an indexed text. */
export interface Found extends Piece {
  /** The source of the indexed text, as given to `add`. */
  readonly source: number;
  /** Whether both begin and end with whole words that are the same all through. */
  readonly isWhole: boolean;
}

/** Some of the words of an index. */
class WordTable {
  readonly capacity: number;
  readonly places: Int32Array;
  readonly nextGram: Int32Array;
  readonly nextWord: Int32Array;
  readonly grams: Int32Array;
  readonly words: Int32Array;
  count = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.places = new Int32Array(capacity);
    this.nextGram = new Int32Array(capacity);
    this.nextWord = new Int32Array(capacity);
    this.grams = new Int32Array(capacity * 2).fill(-1);
    this.words = new Int32Array(capacity * 2).fill(-1);
  }

  enter(place: number, gram: number, word: number): void {
    const entry = this.count++;
    const mask = this.grams.length - 1;
    this.places[entry] = place;
    this.nextGram[entry] = this.grams[gram & mask] ?? -1;
    this.grams[gram & mask] = entry;
    this.nextWord[entry] = this.words[word & mask] ?? -1;
    this.words[word & mask] = entry;
  }
}

export class OriginIndex {
  readonly text = new FoldedText(1024);
  readonly #maxChars: number;
  readonly #decodes: boolean;
  /** Where each text begins, and its source. */
  readonly #starts: number[] = [];
  readonly #sources: number[] = [];
  readonly tables: WordTable[] = [new WordTable(FIRST_TABLE)];

  /**
   * @param maxChars the maximum number of characters of all texts together.
   * @param decodes whether texts are entered in all of their readings.
   */
  constructor(maxChars: number, decodes: boolean) {
    this.#maxChars = maxChars;
    this.#decodes = decodes;
  }

  /** The number of characters in it. */
  get size(): number {
    return this.text.length;
  }

  /** Adds a text at once. Returns false if there is no room for all of it. */
  add(text: string, source: number): boolean {
    let isWhole = true;
    for (const hasRoom of this.adding(text, source)) isWhole = hasRoom;
    return isWhole;
  }

  /** Adds a text in steps. Yields after each whether there was room for all so far. */
  *adding(text: string, source: number): Generator<boolean> {
    if (this.size + text.length > this.#maxChars) {
      yield false;
      return;
    }
    const start = this.text.length;
    let entered = start;
    for (let at = 0; at < text.length; at += STEP_CHARS) {
      this.text.append(text.slice(at, at + STEP_CHARS));
      // The last characters may be continued by the next step.
      const isLast = at + STEP_CHARS >= text.length;
      if (isLast) this.text.end();
      entered = this.#enterWords(entered, isLast ? this.text.length - 1 : this.text.length, isLast);
      if (!isLast) yield true;
    }
    if (this.text.length > start) {
      this.#starts.push(start);
      this.#sources.push(source);
    }
    yield true;
    if (!this.#decodes) return;
    for (let at = 0; at < text.length; at += STEP_CHARS) {
      const [, ...decoded] = readings(text.slice(Math.max(0, at - STEP_OVERLAP), at + STEP_CHARS));
      for (const reading of decoded) {
        if (this.size + reading.length > this.#maxChars) {
          yield false;
          return;
        }
        const from = this.text.length;
        this.text.push(reading);
        this.#enterWords(from, this.text.length - 1, true);
        this.#starts.push(from);
        this.#sources.push(source);
      }
      yield true;
    }
  }

  /** Enters the words between two places. Returns where to go on: a word whose end is not known yet is left for the next step. */
  #enterWords(from: number, end: number, isLast: boolean): number {
    const { codes, flags } = this.text;
    for (let at = from; at < end; at++) {
      if (((flags[at] ?? 0) & WORD_START) === 0) continue;
      let wordEnd = at + 1;
      while (wordEnd < end && ((flags[wordEnd] ?? 1) & WORD_START) === 0) wordEnd++;
      if (!isLast && Math.max(wordEnd, at + GRAM) >= end) return at;
      this.#enter(at, hashOf(codes, at, Math.min(at + GRAM, end)), hashOf(codes, at, wordEnd));
    }
    return end;
  }

  #enter(place: number, gram: number, word: number): void {
    let table = this.tables.at(-1) as WordTable;
    if (table.count === table.capacity) {
      table = new WordTable(Math.min(table.capacity * 2, MAX_TABLE));
      this.tables.push(table);
    }
    table.enter(place, gram, word);
  }

  sourceAt(place: number): number {
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

/** The places of an index that were entered under one hash, the latest first. */
class Places {
  readonly #tables: readonly WordTable[];
  #kind: "grams" | "words" = "grams";
  #hash = 0;
  #table = 0;
  #entry = -1;

  constructor(tables: readonly WordTable[]) {
    this.#tables = tables;
  }

  lookUp(kind: "grams" | "words", hash: number): void {
    this.#kind = kind;
    this.#hash = hash;
    this.#table = this.#tables.length;
    this.#entry = -1;
  }

  /** Has no more. */
  stop(): void {
    this.#table = 0;
    this.#entry = -1;
  }

  /** The next place; -1 if there are no more. */
  next(): number {
    while (this.#entry < 0) {
      if (this.#table === 0) return -1;
      const heads = (this.#tables[--this.#table] as WordTable)[this.#kind];
      this.#entry = heads[this.#hash & (heads.length - 1)] ?? -1;
    }
    const table = this.#tables[this.#table] as WordTable;
    const place = table.places[this.#entry] ?? -1;
    this.#entry = (this.#kind === "grams" ? table.nextGram : table.nextWord)[this.#entry] ?? -1;
    return place;
  }
}

/** Finds the pieces that a text has in common with the texts of an index: runs of eight or more folded characters, and whole words. */
export class Search {
  readonly #index: OriginIndex;
  readonly #text: FoldedText;
  readonly #end: number;
  readonly #onFound: (found: Found) => void;
  readonly #isExact: boolean;
  readonly #isGrouped: boolean;
  /** A run is found at each of its words, but reported once. */
  readonly #known: Known = new Map();
  #at = 0;
  /** What was looked up of what begins there, and the places that are still to be examined. A step may end between any two. */
  #looked: "nothing" | "runs" | "words" = "nothing";
  readonly #places: Places;
  #seen = 0;
  #wordEnd = 0;
  #left: number;

  /**
   * @param isExact whether to report only pieces that the text and the index have as whole words with the same separators and capitals.
   */
  constructor(
    index: OriginIndex,
    text: FoldedText,
    onFound: (found: Found) => void,
    { isExact = false }: { isExact?: boolean } = {},
  ) {
    this.#index = index;
    this.#places = new Places(index.tables);
    this.#text = text;
    this.#end = text.length - 1;
    this.#onFound = onFound;
    this.#isExact = isExact;
    this.#isGrouped = isExact && isGrouped(text);
    this.#left = MIN_COMPARED + COMPARED_PER_CHAR * text.length;
  }

  /** Whether it has found everything, or has compared too much. */
  get isOver(): boolean {
    return this.#at >= this.#end || this.isCut;
  }

  /** Whether it has ended because it has compared too much. */
  get isCut(): boolean {
    return this.#left < 0;
  }

  /** Looks at no more than so many further characters, and at fewer if they cost much. */
  advance(chars: number): void {
    const until = Math.min(this.#end, this.#at + chars);
    const least = Math.max(0, this.#left - MAX_COMPARED_IN_STEP);
    while (this.#at < until && this.#left >= least) {
      const place = this.#places.next();
      if (place < 0) this.#lookFurther();
      else if (--this.#left >= 0) this.#examine(place);
    }
  }

  /** Looks up what begins here: first runs, then a whole word, which is too short for a run. Goes on to the next character after these. */
  #lookFurther(): void {
    const at = this.#at;
    const { codes, flags } = this.#text;
    const isWord = codes[at] !== 0 && ((flags[at] ?? 0) & WORD_START) !== 0;
    this.#seen = 0;
    if (this.#looked === "nothing") {
      this.#looked = "runs";
      if (!this.#mayBeginRun(at, isWord)) return;
      this.#left -= this.#index.tables.length;
      this.#places.lookUp("grams", hashOf(codes, at, at + GRAM));
    } else if (this.#looked === "runs" && isWord) {
      this.#looked = "words";
      let end = at + 1;
      while (((flags[end] ?? 1) & WORD_START) === 0) end++;
      this.#wordEnd = end;
      this.#left -= end - at;
      this.#places.lookUp("words", hashOf(codes, at, end));
    } else {
      this.#looked = "nothing";
      this.#at++;
    }
  }

  #mayBeginRun(at: number, isWord: boolean): boolean {
    if (!isWord && this.#isExact) return false;
    const { codes, length } = this.#text;
    for (let index = at; index < at + GRAM; index++) if (index >= length || codes[index] === 0) return false;
    return true;
  }

  /** Compares what begins here with a place where the index may have the same. */
  #examine(place: number): void {
    const at = this.#at;
    const isRun = this.#looked === "runs";
    if ((this.#known.get(place - at) ?? 0) > at) this.#see();
    else if (isRun) this.#examineRun(at, place);
    else this.#examineWord(at, place);
  }

  #examineRun(at: number, place: number): void {
    const { codes } = this.#text;
    const own = this.#index.text.codes;
    const length = this.#commonFrom(at, place);
    if (length < GRAM) return;
    this.#see();
    let before = 0;
    while (
      at - before > 0 &&
      place - before > 0 &&
      codes[at - before - 1] !== 0 &&
      codes[at - before - 1] === own[place - before - 1]
    )
      before++;
    this.#left -= before;
    this.#known.set(place - at, at + length);
    this.#report(at - before, place - before, length + before);
  }

  #examineWord(at: number, place: number): void {
    const own = this.#index.text;
    const length = this.#commonFrom(at, place);
    if (at + length < this.#wordEnd || ((own.flags[place + this.#wordEnd - at] ?? 1) & WORD_START) === 0)
      return;
    this.#see();
    this.#known.set(place - at, at + length);
    this.#report(at, place, length);
  }

  /** Counts a place that has the same. */
  #see(): void {
    if (++this.#seen >= (this.#looked === "runs" ? MAX_PLACES : MAX_PLACES_OF_WORD)) this.#places.stop();
  }

  #commonFrom(at: number, place: number): number {
    const { codes } = this.#text;
    const own = this.#index.text.codes;
    let length = 0;
    while (codes[at + length] !== 0 && codes[at + length] === own[place + length]) length++;
    this.#left -= length;
    return length;
  }

  #report(from: number, place: number, length: number): void {
    const source = this.#index.sourceAt(place);
    this.#left -= length;
    if (this.#isExact) {
      for (const piece of this.#samePieces(from, place, length))
        this.#onFound({ source, ...piece, isWhole: true });
      return;
    }
    const isEdge = (at: number, text: FoldedText) => ((text.flags[at] ?? 1) & WORD_START) !== 0;
    const own = this.#index.text;
    const isWhole =
      isEdge(from, this.#text) &&
      isEdge(place, own) &&
      isEdge(from + length, this.#text) &&
      isEdge(place + length, own);
    this.#onFound({ source, from, to: from + length, isWhole });
  }

  /** The pieces of a run that begin and end in the same way in both texts, with the same separators in between. */
  #samePieces(from: number, place: number, length: number): Piece[] {
    const pieces: Piece[] = [];
    const [text, own] = [this.#text, this.#index.text];
    let start = -1;
    let end = -1;
    const close = () => {
      if (start >= 0 && end > start && isSameCase(text, own, from + start, place + start, end - start))
        pieces.push({ from: from + start, to: from + end });
      start = -1;
      end = -1;
    };
    for (let index = 0; index <= length; index++) {
      if (start >= 0 && index > start) {
        const trail = text.trailAt(from + index);
        if (trail !== undefined && trail === own.trailAt(place + index)) end = index;
        if (index === length || !this.#hasSameGap(from + index, place + index)) close();
      }
      if (start < 0 && index < length) {
        const lead = text.leadAt(from + index);
        if (lead !== undefined && lead === own.leadAt(place + index)) start = index;
      }
    }
    return pieces;
  }

  #hasSameGap(at: number, place: number): boolean {
    const gap = this.#text.gapAt(at);
    const own = this.#index.text.gapAt(place);
    if (gap === undefined) return false;
    return gap === own || (this.#isGrouped && isGrouping(gap) && own !== undefined && isGrouping(own));
  }
}

function isGrouping(gap: string): boolean {
  return gap === "" || gap === " " || gap === "-";
}

/** Whether a text is one number or id of many digits, which people write in groups: an account, a card, a telephone number. */
function isGrouped(text: FoldedText): boolean {
  let digits = 0;
  for (let at = 0; at < text.length - 1; at++) {
    if (at > 0 && !isGrouping(text.gapAt(at) ?? "?")) return false;
    if (isDigit(text.codes[at])) digits++;
  }
  return digits >= MIN_GROUPED_DIGITS && digits * 2 > text.length - 1;
}

/** Whether letters are capitals at the same places, or the text has them as people write names: none, all, or those that begin words. */
function isSameCase(text: FoldedText, own: FoldedText, from: number, place: number, length: number): boolean {
  let isSame = true;
  let isLower = true;
  let isCapital = true;
  let isNamed = true;
  for (let index = 0; index < length; index++) {
    const flag = text.flags[from + index] ?? 0;
    const isUpper = (flag & UPPER) !== 0;
    if (isUpper !== (((own.flags[place + index] ?? 0) & UPPER) !== 0)) isSame = false;
    if (isUpper) isLower = false;
    else if (!isDigit(text.codes[from + index])) isCapital = false;
    if (isUpper !== (flag & WORD_START) > 0) isNamed &&= isDigit(text.codes[from + index]);
  }
  return isSame || isLower || isCapital || isNamed;
}

/** FNV-1a over folded characters. */
function hashOf(codes: Uint16Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (codes[at] ?? 0), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
