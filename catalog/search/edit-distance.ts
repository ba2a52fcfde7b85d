/**
 * Insertions, deletions, replacements and swaps of neighbours that make one text of another (optimal string alignment),
 * or `limit + 1` when there are more than `limit`.
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

/** Which letters a text has, a bit each. */
export function letterSet(text: string): number {
  let letters = 0;
  for (let index = 0; index < text.length; index++) letters |= 1 << (text.charCodeAt(index) & 31);
  return letters;
}

/** Whether texts with these letters can be within `limit` edits: far cheaper than to compare the texts. */
export function mayBeWithin(limit: number, a: number, b: number): boolean {
  return bits(a & ~b) <= limit && bits(b & ~a) <= limit;
}

function bits(set: number): number {
  let count = 0;
  for (let rest = set; rest !== 0; rest &= rest - 1) count++;
  return count;
}
