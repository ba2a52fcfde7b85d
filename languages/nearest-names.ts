const MAX_NAMES = 3;
const MIN_SCORE = 0.6;
/** Candidates whose score is lower than the best by more than this are left out. */
const SPREAD = 0.15;
/** What a word that begins another counts, where the same word counts 1. */
const BEGINNING = 0.9;
const MIN_BEGINNING_CHARS = 3;

/**
 * The candidates that a misspelled name in code most likely means, best first. At most three, and none when none is close.
 * Only candidates about as close as the best are given, because the message tells a model what to write instead. For a
 * wider choice see `catalog/search/similar-names.ts`.
 */
export function nearestNames(name: string, candidates: Iterable<string>): string[] {
  const words = wordsOf(name);
  const scored: { candidate: string; score: number }[] = [];
  for (const candidate of new Set(candidates)) {
    const score = Math.max(similarity(name, candidate), sharedWords(words, wordsOf(candidate)));
    if (score >= MIN_SCORE) scored.push({ candidate, score });
  }
  scored.sort((a, b) => b.score - a.score || (a.candidate < b.candidate ? -1 : 1));
  const [best] = scored;
  return scored
    .filter(({ score }) => score >= (best?.score ?? 0) - SPREAD)
    .slice(0, MAX_NAMES)
    .map(({ candidate }) => candidate);
}

/** Renders `; did you mean 'a', 'b' or 'c'?`, or an empty text. */
export function didYouMean(names: readonly string[]): string {
  const quoted = names.map((name) => `'${name}'`);
  const last = quoted.pop();
  if (last === undefined) return "";
  return `; did you mean ${quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`}?`;
}

/** Words of an identifier, in lower case and without a plural's s. */
function wordsOf(name: string): Set<string> {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return new Set(words?.map((word) => word.replace(/s$/, "")));
}

function isBeginning(short: string, long: string): boolean {
  return short.length >= MIN_BEGINNING_CHARS && long.startsWith(short);
}

/** How many words two names share. A word that begins another, such as `dir` of `directory`, counts almost as much. */
function sharedWords(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) {
    if (b.has(word)) shared++;
    else if ([...b].some((other) => isBeginning(word, other) || isBeginning(other, word)))
      shared += BEGINNING;
  }
  return (2 * shared) / (a.size + b.size || 1);
}

/** 1 for equal names, 0 for names with nothing in common, by edit distance. */
function similarity(a: string, b: string): number {
  const longest = Math.max(a.length, b.length, 1);
  return longest > 100 ? 0 : 1 - levenshteinDistance(a.toLowerCase(), b.toLowerCase()) / longest;
}

/**
 * Insertions, deletions and replacements that make one text of another. A swap of neighbours counts as two, unlike in
 * `catalog/search/similar-names.ts`.
 */
function levenshteinDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
