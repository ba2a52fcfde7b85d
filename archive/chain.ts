import { digestOf } from "../protocol/canonical-json.ts";

/**
 * The records of an archive form a chain: each link is a digest over the previous link and its own entry, so that removing,
 * inserting or replacing a record breaks every later link. A pruned run leaves its entry. There is no key: the chain detects
 * damage and edits, but not somebody who rewrites it from the edit to its end. A copy of the newest link, kept elsewhere,
 * detects that too.
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

/** The link of an entry that follows the link `previous`. */
export function linkTo(previous: string, entry: string): string {
  return digestOf({ previous, entry });
}
