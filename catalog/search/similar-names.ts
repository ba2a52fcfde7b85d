import type { SearchableTool } from "./searchable-text.ts";
import { splitRunTogether, tokenize, tokenOf } from "./words.ts";

/** Longer names are cut before they are compared. */
const MAX_NAME_CHARS = 100;

/** With more typing errors, two names count as different. */
const MAX_ERRORS = 4;

/** The least likeness, between 0 and 1, of a name that is worth a hint. */
const MIN_LIKENESS = 0.5;

/** A name with the same words in another order or form is a little less alike than one with a typing error. */
const SAME_WORDS_LIKENESS = 0.9;

/**
 * The candidates that resemble a mistaken name, best first: those a few typing errors away, and those that share most of its
 * words. Case, separators and endings of words do not matter. Empty if no candidate resembles it.
 *
 * This is for people and models who look for a name and can choose from several. For code with an unknown name,
 * `languages/name-lookup.ts` returns only the most likely meaning, by the exact spelling.
 */
export function similarNames(name: string, candidates: readonly string[], limit: number): string[] {
  const wanted = shapeOf(name);
  const near: { candidate: string; likeness: number; lengthDifference: number }[] = [];
  for (const candidate of new Set(candidates)) {
    const shape = shapeOf(candidate);
    const likeness = likenessOf(wanted, shape);
    const lengthDifference = Math.abs(shape.compact.length - wanted.compact.length);
    if (likeness >= MIN_LIKENESS) near.push({ candidate, likeness, lengthDifference });
  }
  near.sort(
    (a, b) =>
      b.likeness - a.likeness ||
      a.lengthDifference - b.lengthDifference ||
      (a.candidate < b.candidate ? -1 : 1),
  );
  return near.slice(0, limit).map(({ candidate }) => candidate);
}

interface Shape {
  compact: string;
  letters: number;
  stems: ReadonlySet<string>;
}

function shapeOf(name: string): Shape {
  let compact = "";
  const stems = new Set<string>();
  for (const { parts } of tokenize(name.slice(0, MAX_NAME_CHARS))) {
    for (const { text, stem } of parts) {
      compact += text;
      stems.add(stem);
    }
  }
  return { compact, letters: letterSet(compact), stems };
}

function likenessOf(wanted: Shape, candidate: Shape): number {
  let shared = 0;
  for (const stem of wanted.stems) if (candidate.stems.has(stem)) shared++;
  const byWords = (2 * shared) / (wanted.stems.size + candidate.stems.size || 1);
  return Math.max(likenessOfSpelling(wanted, candidate), byWords * SAME_WORDS_LIKENESS);
}

function likenessOfSpelling(wanted: Shape, candidate: Shape): number {
  const longest = Math.max(wanted.compact.length, candidate.compact.length);
  const limit = Math.min(MAX_ERRORS, Math.max(1, Math.floor(wanted.compact.length / 3)));
  if (longest === 0 || !mayBeWithin(limit, wanted.letters, candidate.letters)) return 0;
  const distance = editDistance(wanted.compact, candidate.compact, limit);
  return distance > limit ? 0 : 1 - distance / longest;
}

/** Longer queries are not names. */
const MAX_QUERY_NAME_CHARS = 200;

interface Entry {
  slots: number[];
  letters: number;
}

/**
 * Finds the slots of tools by a name: the protocol name, with or without the server before it, or the namespaced name. Case and
 * separators do not matter: `create_issue`, `createIssue` and `Create issue` are one name.
 */
export class NameLookup {
  readonly #entries = new Map<string, Entry>();

  add(slot: number, tool: SearchableTool): void {
    for (const name of namesOf(tool)) {
      const entry = this.#entries.get(name);
      if (entry === undefined) this.#entries.set(name, { slots: [slot], letters: letterSet(name) });
      else entry.slots.push(slot);
    }
  }

  remove(slot: number, tool: SearchableTool): void {
    for (const name of namesOf(tool)) {
      const entry = this.#entries.get(name);
      if (entry === undefined) continue;
      entry.slots = entry.slots.filter((each) => each !== slot);
      if (entry.slots.length === 0) this.#entries.delete(name);
    }
  }

  find(query: string): readonly number[] {
    return this.#entries.get(compactName(query))?.slots ?? [];
  }

  /** The slots that `find` returns, or if there are none, the slots of names that are one or two typing errors away. */
  findNearest(query: string): readonly number[] {
    const wanted = compactName(query);
    const exact = this.#entries.get(wanted);
    if (exact !== undefined) return exact.slots;
    let limit = wanted.length >= 8 ? 2 : wanted.length >= 5 ? 1 : 0;
    let nearest: number[] = [];
    if (limit === 0) return nearest;
    const letters = letterSet(wanted);
    for (const [name, entry] of this.#entries) {
      if (Math.abs(name.length - wanted.length) > limit || !mayBeWithin(limit, letters, entry.letters))
        continue;
      const distance = editDistance(wanted, name, limit);
      if (distance > limit) continue;
      nearest = distance < limit ? [...entry.slots] : [...nearest, ...entry.slots];
      limit = distance;
    }
    return [...new Set(nearest)];
  }
}

function compactName(name: string): string {
  if (name.length > MAX_QUERY_NAME_CHARS) return "";
  const isAscii = !/[^\p{ASCII}]/u.test(name);
  return name.toLowerCase().replace(isAscii ? /[^a-z0-9]+/g : /[^\p{L}\p{N}]+/gu, "");
}

function namesOf({ server, name, namespacedName }: SearchableTool): Set<string> {
  const names = new Set([name, `${server} ${name}`, namespacedName].map(compactName));
  names.delete("");
  return names;
}

/** A term, and its share of a word's weight. */
export interface SimilarTerm {
  term: string;
  likeness: number;
}

const MAX_SIMILAR = 4;
const MIN_PREFIX_CHARS = 4;
const PREFIX_LIKENESS = 0.5;
const MISSPELT_LIKENESS = 0.6;

/**
 * Finds the terms of a vocabulary that an unknown word may mean: its parts, a word that it misspells, or longer words that begin
 * with it. A misspelt word must have the same first letter.
 */
export class SimilarTerms {
  /** Words as written, each with its set of letters, by first character and then by length. */
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

  /** At most a few terms that a word may mean. */
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

/**
 * The number of insertions, deletions, replacements and swaps of neighbours that turn one text into another (optimal string
 * alignment), or `limit + 1` if there are more than `limit`.
 */
export function editDistance(a: string, b: string, limit: number): number {
  const tooFar = limit + 1;
  if (Math.abs(a.length - b.length) > limit) return tooFar;
  [a, b] = withoutCommonEnds(a, b);
  const width = b.length + 1;
  let beforeLast = new Float64Array(width);
  let last = Float64Array.from({ length: width }, (_, index) => index);
  let row = new Float64Array(width);
  for (let i = 1; i <= a.length; i++) {
    // Cells further from the diagonal than `limit` are too far in any case.
    const from = Math.max(1, i - limit);
    const to = Math.min(b.length, i + limit);
    row.fill(tooFar);
    if (i <= limit) row[0] = i;
    let least = at(row, 0);
    for (let j = from; j <= to; j++) {
      const same = a.charCodeAt(i - 1) === b.charCodeAt(j - 1);
      let distance = Math.min(at(last, j - 1) + (same ? 0 : 1), at(last, j) + 1, at(row, j - 1) + 1);
      if (!same && i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, at(beforeLast, j - 2) + 1);
      }
      row[j] = distance;
      least = Math.min(least, distance);
    }
    if (least > limit) return tooFar;
    [beforeLast, last, row] = [last, row, beforeLast];
  }
  return Math.min(at(last, b.length), tooFar);
}

function withoutCommonEnds(a: string, b: string): [string, string] {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let end = 0;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return [a.slice(start, a.length - end), b.slice(start, b.length - end)];
}

function at(row: Float64Array, index: number): number {
  return row[index] as number;
}

/** The letters of a text, as one bit each. */
export function letterSet(text: string): number {
  let letters = 0;
  for (let index = 0; index < text.length; index++) letters |= 1 << (text.charCodeAt(index) & 31);
  return letters;
}

/** Whether texts with these letters can be within `limit` edits. Far cheaper than comparing the texts. */
export function mayBeWithin(limit: number, a: number, b: number): boolean {
  return bits(a & ~b) <= limit && bits(b & ~a) <= limit;
}

function bits(set: number): number {
  let count = 0;
  for (let rest = set; rest !== 0; rest &= rest - 1) count++;
  return count;
}
