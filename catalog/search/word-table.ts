/** What may be part of a word once its accents and compatibility forms are folded. Dashes, quotes and arrows are not. */
const NOT_PLAIN = /[^\p{ASCII}\u2010-\u2027\u2190-\u21ff]/u;

const HYPHEN = 0x2d;
const IS_WORD_BYTE = Uint8Array.from({ length: 0x100 }, (_, byte) =>
  /[A-Za-z0-9]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** Longer words are data, not language, and are taken apart each time. */
const MAX_BYTES = 64;

/** A word is looked for in so many places at most: words that are made to have one hash cost little more than others. */
const PROBES = 32;
const MIN_PLACES = 1 << 12;
const MAX_PLACES = 1 << 17;

/** Numbers in a place: the word's hash, where its bytes begin and how many they are, and its number plus one. */
const STRIDE = 4;

/** How words are found in a text that has more than plain letters, and what a word means. */
interface Reading {
  wordsOf(text: string): Iterable<string>;
  numberOf(word: string): number;
}

/**
 * Remembers what each word was taken apart into. Words are few and are repeated often: to find one by its bytes, without
 * a string being made of it, is what makes indexing fast. Emptied when a hostile catalog exceeds it.
 */
export class WordTable {
  readonly #reading: Reading;
  #places = new Int32Array(0);
  #size = 0;
  #bytes = new Uint8Array(0);
  #usedBytes = 0;
  /** The text that is being read. */
  #text = Buffer.alloc(1 << 10);

  constructor(reading: Reading) {
    this.#reading = reading;
    this.clear();
  }

  clear(): void {
    this.#places = new Int32Array(MIN_PLACES * STRIDE);
    this.#bytes = new Uint8Array(MIN_PLACES * 8);
    this.#size = 0;
    this.#usedBytes = 0;
  }

  /** Adds to `numbers` that of each of a text's words, in order. */
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
    // What was there before must not be taken for the text's next character.
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
      const place = (((hash ^ (hash >>> 15)) + probe) * STRIDE) & (places.length - 1);
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
    const places = this.#places.length / STRIDE;
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

/** Puts a word into its first free place. Without a free place the word is not remembered. */
function put(places: Int32Array, hash: number, from: number, length: number, position: number): void {
  for (let probe = 0; probe < PROBES; probe++) {
    const place = (((hash ^ (hash >>> 15)) + probe) * STRIDE) & (places.length - 1);
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
  for (let place = 0; place < places.length; place += STRIDE) {
    const position = places[place + 3] as number;
    if (position === 0) continue;
    put(wider, places[place] as number, places[place + 1] as number, places[place + 2] as number, position);
  }
  return wider;
}

/** Hyphens between letters or digits are part of the word. */
function isPart(bytes: Uint8Array, index: number, start: number): boolean {
  const byte = bytes[index] as number;
  if (IS_WORD_BYTE[byte] === 1) return true;
  return byte === HYPHEN && index > start && IS_WORD_BYTE[bytes[index + 1] as number] === 1;
}

function mix(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}
