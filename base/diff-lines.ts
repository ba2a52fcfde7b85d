/** Unchanged lines shown before and after a difference. */
const CONTEXT = 2;

/** The largest table for finding the shortest difference. Above this size all lines in between count as different. */
const MAX_CELLS = 4_000_000;

/**
 * The differences between two texts, given as lines. Removed lines begin with `- `, added lines with `+ `, unchanged lines
 * around them with two spaces. `...` stands for lines that are left out. Empty when the texts are equal.
 */
export function diffLines(before: readonly string[], after: readonly string[]): string[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  if (start === before.length && start === after.length) return [];
  const edits = [
    ...before.slice(0, start).map((line) => `  ${line}`),
    ...editsBetween(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map((line) => `  ${line}`),
  ];
  return withContext(edits);
}

function editsBetween(before: readonly string[], after: readonly string[]): string[] {
  if (before.length * after.length > MAX_CELLS) {
    return [...before.map((line) => `- ${line}`), ...after.map((line) => `+ ${line}`)];
  }
  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const skip = Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
      common[i * width + j] = before[i] === after[j] ? (common[(i + 1) * width + j + 1] ?? 0) + 1 : skip;
    }
  }
  const edits: string[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      edits.push(`  ${before[i]}`);
      i++;
      j++;
    } else if (
      j === after.length ||
      (i < before.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      edits.push(`- ${before[i++]}`);
    } else {
      edits.push(`+ ${after[j++]}`);
    }
  }
  return edits;
}

function withContext(edits: readonly string[]): string[] {
  const near = new Uint8Array(edits.length);
  edits.forEach((line, i) => {
    if (!line.startsWith("  ")) near.fill(1, Math.max(0, i - CONTEXT), i + CONTEXT + 1);
  });
  return edits.flatMap((line, i) => {
    if (near[i] === 1) return [line];
    return near[i + 1] === 1 && i > 0 ? ["  ..."] : [];
  });
}
