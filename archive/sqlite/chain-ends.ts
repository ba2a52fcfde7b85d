import * as z from "zod/mini";
import { ArchiveError } from "../archive-error.ts";
import type { Database } from "./file/database.ts";

const ChainEnd = z.object({ id: z.int(), link: z.string() });
type ChainEnd = z.infer<typeof ChainEnd>;

/**
 * Reads one end of the chain. `head` is the newest record. `start` is where the chain begins after older runs were pruned.
 *
 * @throws ArchiveError `corrupt` when the end is missing.
 */
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
