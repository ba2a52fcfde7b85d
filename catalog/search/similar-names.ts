import { editDistance, letterSet, mayBeWithin } from "./edit-distance.ts";
import { tokenize } from "./tokenize.ts";

/** Of a longer name only the beginning is compared. */
const MAX_NAME_CHARS = 100;

/** With more typing errors two names count as different. */
const MAX_ERRORS = 4;

/** Least likeness, between 0 and 1, of a name that is worth a hint. */
const MIN_LIKENESS = 0.5;

/** A name of the same words in another order or form is a little less like than one with a typing error. */
const SAME_WORDS_LIKENESS = 0.9;

/**
 * The candidates that are like a mistaken name, best first: those a few typing errors away, and those that share
 * most of its words. Case, separators and endings of words do not matter. Empty when none is like it.
 *
 * This is for people and models who look for a name, and can choose from several. Where code names something that is not
 * there, `languages/nearest-names.ts` gives only what was most likely meant, and goes by the exact spelling.
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
