import { diffArrays } from "diff";

/** Unchanged lines shown before and after a difference. */
const CONTEXT = 2;

/** The most differing lines for which the shortest difference is computed. Above this, all lines count as different. */
const MAX_EDITS = 4_000;

/**
 * The differences between two texts, given as lines. Removed lines begin with `- `, added lines with `+ `, and unchanged lines around
 * them with two spaces. `...` marks lines that are left out. Empty when the texts are equal.
 */
export function diffLines(before: readonly string[], after: readonly string[]): string[] {
  const changes = diffArrays([...before], [...after], { maxEditLength: MAX_EDITS }) ?? [
    { added: false, removed: true, value: before },
    { added: true, removed: false, value: after },
  ];
  if (changes.every(({ added, removed }) => !added && !removed)) return [];
  return withContext(
    changes.flatMap(({ added, removed, value }) => {
      const mark = added ? "+" : removed ? "-" : " ";
      return value.map((line) => `${mark} ${line}`);
    }),
  );
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
