import * as z from "zod/mini";
import { digestOf } from "../protocol/canonical-json.ts";
import { ArchiveError } from "./archive-error.ts";
import type { Database } from "./database.ts";

/**
 * The records of an archive form a chain: each link is a digest over the link before it and over its own entry, so that
 * a record that is removed, added in between or replaced breaks every link after it. A pruned run leaves its entry. There
 * is no key: this finds what went wrong and what was edited, not somebody who rewrites the chain from there to its end;
 * who fears that keeps the link of the newest record somewhere else.
 */
export interface ChainEntry {
  recordDigest: string;
  /** Set for a run that came from another archive. */
  importedAt: number | null;
  origin: string | null;
}

const ChainEnd = z.object({ id: z.int(), link: z.string() });
type ChainEnd = z.infer<typeof ChainEnd>;

export function entryDigest({ recordDigest, importedAt, origin }: ChainEntry): string {
  return digestOf({ record: recordDigest, imported_at: importedAt, origin });
}

export function linkTo(previous: string, entry: string): string {
  return digestOf({ previous, entry });
}

/** `head`: the newest record. `start`: where the chain begins since everything older was pruned. */
export function readChainEnd(db: Database, name: "start" | "head"): ChainEnd {
  const end = db.get(ChainEnd, "SELECT id, link FROM chain_ends WHERE name = ?", name);
  if (end === undefined) {
    throw new ArchiveError(
      "corrupt",
      `the archive ${db.path} has lost the ${name} of its chain: it is damaged`,
    );
  }
  return end;
}

export function writeChainEnd(db: Database, name: "start" | "head", end: ChainEnd): void {
  db.run("UPDATE chain_ends SET id = ?, link = ? WHERE name = ?", end.id, end.link, name);
}
