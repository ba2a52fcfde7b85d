import * as z from "zod/mini";
import { digestOf } from "../protocol/canonical-json.ts";
import { parseJson } from "./archived-json.ts";

/**
 * The records of an archive form a chain: each link is a digest over the previous link and its own entry, so that removing,
 * inserting or replacing a record breaks every later link. A pruned run leaves its entry, and pruning adds an entry that
 * says which places it removed runs from. If a run is gone without such an entry, ptc did not prune it. There is no key: the
 * chain detects damage and edits, but not somebody who rewrites it from the edit to its end, cuts off its end, or adds an
 * entry. A copy of the newest link, kept elsewhere, detects that too.
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

/** What an entry says of runs that ptc has pruned. */
const PruningEntry = z.strictObject({
  at: z.int(),
  /** Nothing is left of this place and the places before it. */
  through: Place,
  /** Places whose entries are left, as ranges of the first and the last. */
  pruned: z.array(z.tuple([Place, Place])),
});
export type PruningEntry = z.infer<typeof PruningEntry>;

/** An entry that says what was pruned, with its place. */
export type Pruning = PruningEntry & { id: number };

/** `undefined` for a text that no ptc has written. */
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

/** What the first entry of a chain follows. */
export const NO_LINK = "none";

/** The link of an entry that follows the link `previous`. */
export function linkTo(previous: string, entry: string): string {
  return digestOf({ previous, entry });
}

/** Ascending numbers as ranges, each with its first and its last. */
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
 * What pruning does to a chain: the entry to append, which says which places were pruned, and where the chain starts then. The
 * start moves past the entries that have no run before them: those of pruned runs, and those that say what was pruned, because
 * the new one says more. It stays before what is gone, but was never said to be pruned: nobody would find that after it.
 *
 * @param entryAt what is left of a pruned run at a place; `undefined` for any other place.
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
