const MIN_WORD_CHARS = 7;
const MAX_WORD_CHARS = 40;
const MIN_PART_CHARS = 3;

/**
 * The fewest known words that make up a word that is not itself known (`airqualityforecast`: air, quality, forecast), or
 * none if it cannot be made of them.
 */
export function splitRunTogether(word: string, known: { has(word: string): boolean }): string[] {
  if (word.length < MIN_WORD_CHARS || word.length > MAX_WORD_CHARS || known.has(word)) return [];
  const splits: (string[] | undefined)[] = [[]];
  for (let end = MIN_PART_CHARS; end <= word.length; end++) {
    for (let start = 0; start <= end - MIN_PART_CHARS; start++) {
      const before = splits[start];
      const isShorter = before !== undefined && before.length + 1 < (splits[end]?.length ?? Infinity);
      if (!isShorter) continue;
      const part = word.slice(start, end);
      if (known.has(part)) splits[end] = [...before, part];
    }
  }
  return splits[word.length] ?? [];
}
