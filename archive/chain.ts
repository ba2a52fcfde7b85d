import * as z from "zod/mini";
import { digestOf } from "../protocol/canonical-json.ts";
import { parseJson } from "./archived-json.ts";

/**
 * The records of an archive form a chain: each link is a digest over the previous link and its own entry, so that removing,
 * inserting or replacing a record breaks every later link. A pruned run leaves its entry, and pruning adds an entry that says
 * which places it took runs from: a run that is gone without one was not pruned by ptc. There is no key: the chain detects damage
 * and edits, but not somebody who rewrites it from the edit to its end, cuts off its end, or adds an entry. A copy of the newest
 * link, kept elsewhere, detects that too.
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

/** What an entry says of runs that ptc has pruned. */
const PruningEntry = z.strictObject({
  at: z.int(),
  /** Nothing is left of this place and of those before it. */
  through: Place,
  /** Places of which the entries are left, each range with its first and its last. */
  pruned: z.array(z.tuple([Place, Place])),
});
export type PruningEntry = z.infer<typeof PruningEntry>;

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
