import * as z from "zod/mini";
import { digestOf } from "../protocol/canonical-json.ts";
import { parseJson } from "./archived-json.ts";

/**
 * The records of an archive form a chain. Each link is a digest over the previous link and its own entry, so that removing,
 * inserting or replacing a record breaks every later link. A pruned run leaves its entry, and pruning adds an entry that
 * says which places it removed runs from. If a run is gone without such an entry, ptc did not prune it. There is no key. The
 * chain therefore detects damage and single edits, but not a person who rewrites it from the edit to its end, cuts off its
 * end, or adds an entry. A copy of the newest link, kept elsewhere, detects that too.
 */
export interface ChainEntry {
  recordDigest: string;
  /** Set for a run that came from another archive. */
  importedAt: number | null;
  origin: string | null;
}

/** The digest of an entry, which remains when its run is pruned. */
export function entryDigest({ recordDigest, importedAt, origin }: ChainEntry): string {
  return digestOf({ record: recordDigest, imported_at: importedAt, origin });
}

const Place = z.int().check(z.minimum(0));

/** An end of the chain: the place of an entry, and its link. */
export interface ChainEnd {
  id: number;
  link: string;
}

/** The content of an entry about runs that ptc has pruned. */
const PruningEntry = z.strictObject({
  at: z.int(),
  /** No entry is left at this place or any place before it. */
  through: Place,
  /** Pruned places whose entries are left, as ranges with their first and last place. */
  pruned: z.array(z.tuple([Place, Place])),
});
export type PruningEntry = z.infer<typeof PruningEntry>;

/** An entry that says what was pruned, with its place. */
export type Pruning = PruningEntry & { id: number };

/** Parses an entry. Returns `undefined` for text that no ptc has written. */
export function parsePruning(json: string): PruningEntry | undefined {
  return parseJson(PruningEntry, json);
}

/** Whether some of these entries say that a place was pruned. */
export function coverPlace(prunings: readonly PruningEntry[], place: number): boolean {
  return prunings.some(
    ({ through, pruned }) => place <= through || pruned.some(([from, to]) => place >= from && place <= to),
  );
}

export function pruningDigest({ at, through, pruned }: PruningEntry): string {
  return digestOf({ pruning: { at, through, pruned } });
}

/** The link that the first entry of a chain follows. */
export const NO_LINK = "none";

/** The link of an entry that follows the link `previous`. */
export function linkTo(previous: string, entry: string): string {
  return digestOf({ previous, entry });
}

/** Groups ascending numbers into ranges, each with its first and last number. */
export function toRanges(ids: readonly number[]): [from: number, to: number][] {
  const ranges: [number, number][] = [];
  for (const id of ids) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === id - 1) last[1] = id;
    else ranges.push([id, id]);
  }
  return ranges;
}

/**
 * Returns what pruning does to a chain: the entry to append, which says which places were pruned, and the new start of the
 * chain. The start moves past entries that no run precedes: entries of pruned runs, and earlier entries about pruning, which
 * the new one replaces. It stops before a run that is gone although no entry says that it was pruned: a later start would hide
 * that gap.
 *
 * @param entryAt returns the entry that a pruned run left at a place, or `undefined` for any other place.
 */
export function statePruning(
  start: ChainEnd,
  prunings: readonly Pruning[],
  { places, at }: { places: readonly number[]; at: number },
  entryAt: (place: number) => string | undefined,
): { start: ChainEnd; pruning: PruningEntry } {
  const pruned = toRanges(places.toSorted((a, b) => a - b));
  const isStated =
    start.id === 0 ? start.link === NO_LINK : prunings.some(({ through }) => through >= start.id);
  if (!isStated) return { start, pruning: { at, through: 0, pruned } };
  const stated = [...prunings, { at, through: start.id, pruned }];
  let { id, link } = start;
  for (;;) {
    const next = id + 1;
    const entry = entryAt(next);
    const pruning = prunings.find((each) => each.id === next);
    if (entry !== undefined && coverPlace(stated, next)) link = linkTo(link, entry);
    else if (pruning !== undefined) link = linkTo(link, pruningDigest(pruning));
    else break;
    id = next;
  }
  return { start: { id, link }, pruning: { at, through: id, pruned: pruned.filter(([, to]) => to > id) } };
}
