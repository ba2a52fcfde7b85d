import * as z from "zod/mini";
import { canonicalJson } from "../../protocol/canonical-json.ts";
import { ArchiveError } from "../archive-error.ts";
import {
  type ChainEnd,
  linkTo,
  type Pruning,
  type PruningEntry,
  parsePruning,
  pruningDigest,
  toRanges,
} from "../chain.ts";
import type { Database } from "./database.ts";

const EndRow = z.object({ id: z.int(), link: z.string() });

/**
 * Reads one end of the chain. `head` is the newest record. `start` is where the chain begins after older runs were pruned.
 *
 * @throws ArchiveError `corrupt` when the end is missing.
 */
export function readChainEnd(db: Database, name: "start" | "head"): ChainEnd {
  const end = db.get(EndRow, "SELECT id, link FROM chain_ends WHERE name = ?", name);
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

/** Appends an entry that says which places of the chain ptc has pruned. Must be called in the transaction that prunes them. */
export function appendPruning(db: Database, pruning: PruningEntry): void {
  const head = readChainEnd(db, "head");
  const id = head.id + 1;
  db.run(
    "INSERT INTO prunings (id, previous, statement) VALUES (?, ?, ?)",
    ...[id, head.link, canonicalJson(pruning)],
  );
  writeChainEnd(db, "head", { id, link: linkTo(head.link, pruningDigest(pruning)) });
}

const Statement = z.object({ id: z.int(), statement: z.string() });

/** The entries of the chain about pruned runs, with their places. Leaves out entries that no ptc has written. */
export function readPrunings(db: Database): Pruning[] {
  const rows = db.allParsed(Statement, "SELECT id, statement FROM prunings ORDER BY id");
  return rows.flatMap((each) => {
    const pruning = each.ok ? parsePruning(each.row.statement) : undefined;
    return each.ok && pruning !== undefined ? [{ ...pruning, id: each.row.id }] : [];
  });
}

const Pruned = z.object({ id: z.int() });

/** Appends an entry for runs that an early version pruned without one. */
export function stateEarlierPrunings(db: Database, nowMs: number): void {
  const start = readChainEnd(db, "start");
  const pruned = toRanges(db.all(Pruned, "SELECT id FROM tombstones ORDER BY id").map(({ id }) => id));
  if (start.id > 0 || pruned.length > 0) appendPruning(db, { at: nowMs, through: start.id, pruned });
}
