import type { SearchableTool } from "../searchable-text.ts";
import type { SearchHit } from "../tool-search.ts";

/** How much meaning counts, of 1 together with words, where words say nothing of a query and where they say all of it. */
const WEIGHT_WITHOUT_WORDS = 0.7;
const WEIGHT_WITH_ALL_WORDS = 0.15;
/** As many standard deviations above the mean count as much as the best score of words. */
const CLEAR_DEVIATIONS = 4;
/** How many of the tools nearest in meaning count as found, where no word leads to them. */
const NEAREST = 20;
/** Tools that deviate less than this are like any other. */
const TELLING_DEVIATIONS = 1;
/** The share of the largest deviation that one of so few tools can have, at which it stands out of them. */
const SHARE_OF_LARGEST = 0.6;

/** A tool, and how like it is to each text of a query: cosines, as many as there are texts. */
export interface Alike {
  readonly tool: SearchableTool;
  /** `undefined` where the tool has no vector yet. */
  readonly likenesses: ArrayLike<number> | undefined;
}

interface Fused {
  /** Best first. */
  readonly hits: SearchHit[];
  /** Whether a tool clearly stands out of all in meaning. */
  readonly standsOut: boolean;
}

/**
 * Ranks tools by words and by meaning. Words count as the share of the best score. Meaning counts as how far a tool stands out
 * of all, in standard deviations: which cosine is large differs from model to model and from query to query. Of a query's
 * texts the one counts that a tool is nearest to. The more of the query the best match by words says, the more words count: they
 * are seldom wrong then. A tool without a vector is taken to mean what its words say.
 *
 * @param byWords best first.
 * @param coverage how much of the query the first of them says, from 0 to 1.
 * @param all the tools in scope, those of `byWords` among them.
 */
export function fuse(byWords: readonly SearchHit[], coverage: number, all: readonly Alike[]): Fused {
  const best = byWords[0]?.score ?? 0;
  const shares = new Map(
    byWords.map(({ tool, score }) => [tool.namespacedName, best > 0 ? score / best : 0]),
  );
  const weight = WEIGHT_WITHOUT_WORDS + (WEIGHT_WITH_ALL_WORDS - WEIGHT_WITHOUT_WORDS) * coverage;
  const deviations = deviationsOf(all);
  const scored = all.map(({ tool }, index) => {
    const share = shares.get(tool.namespacedName);
    const deviation = deviations[index] ?? (share ?? 0) * CLEAR_DEVIATIONS;
    const score = (weight * deviation) / CLEAR_DEVIATIONS + (1 - weight) * (share ?? 0);
    return { tool, score, deviation, isMatch: share !== undefined };
  });
  const nearest = [...deviations].flatMap((each) => each ?? []).sort((a, b) => b - a);
  const near = Math.max(TELLING_DEVIATIONS, nearest[NEAREST - 1] ?? 0);
  const hits = scored
    .filter(({ isMatch, deviation }) => isMatch || deviation >= near)
    .sort((a, b) => b.score - a.score || (a.tool.namespacedName < b.tool.namespacedName ? -1 : 1))
    .map(({ tool, score }) => ({ tool, score }));
  // One of n values is at most (n - 1) / √n standard deviations above their mean.
  const largest = (nearest.length - 1) / Math.sqrt(nearest.length);
  const clear = Math.min(CLEAR_DEVIATIONS, SHARE_OF_LARGEST * largest);
  return { hits, standsOut: (nearest[0] ?? 0) >= clear };
}

/** Of each tool, by how many standard deviations it is above the mean, in the text of the query that it is nearest to. */
function deviationsOf(all: readonly Alike[]): (number | undefined)[] {
  const known = all.flatMap(({ likenesses }) => (likenesses === undefined ? [] : [likenesses]));
  const texts = known[0]?.length ?? 0;
  const spreads = Array.from({ length: texts }, (_, text) =>
    spreadOf(known.map((likenesses) => likenesses[text] as number)),
  );
  return all.map(({ likenesses }) => {
    if (likenesses === undefined) return undefined;
    const each = spreads.map(({ mean, deviation }, text) =>
      deviation === 0 ? 0 : ((likenesses[text] as number) - mean) / deviation,
    );
    return Math.max(...each);
  });
}

function spreadOf(values: readonly number[]): { mean: number; deviation: number } {
  const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
  const squares = values.reduce((sum, each) => sum + (each - mean) ** 2, 0);
  return { mean, deviation: Math.sqrt(squares / values.length) };
}
