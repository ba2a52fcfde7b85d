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
} from "../chain.ts";
import type { Statements } from "./database.ts";

const EndRow = z.object({ id: z.int(), link: z.string() });

/**
 * Reads one end of the chain. `head` is the newest record. `start` is where the chain begins after older runs were pruned.
 *
 * @throws ArchiveError `corrupt` when the end is missing.
 */
export async function readChainEnd(db: Statements, name: "start" | "head"): Promise<ChainEnd> {
  const end = await db.get(EndRow, "SELECT id, link FROM chain_ends WHERE name = $1", name);
  if (end !== undefined) return end;
  throw new ArchiveError("corrupt", `${db.place} has lost the ${name} of its chain: it is damaged`);
}

/** Locks the head of the chain until the transaction ends. */
export async function lockHead(tx: Statements): Promise<ChainEnd> {
  await tx.run("SELECT FROM chain_ends WHERE name = 'head' FOR UPDATE");
  return readChainEnd(tx, "head");
}

export async function writeChainEnd(tx: Statements, name: "start" | "head", end: ChainEnd): Promise<void> {
  await tx.run("UPDATE chain_ends SET id = $1, link = $2 WHERE name = $3", end.id, end.link, name);
}

/** Appends an entry that says which places of the chain ptc has pruned. Must be called in the transaction that prunes them. */
export async function appendPruning(tx: Statements, pruning: PruningEntry): Promise<void> {
  const head = await lockHead(tx);
  const id = head.id + 1;
  await tx.run(
    "INSERT INTO prunings (id, previous, statement) VALUES ($1, $2, $3)",
    ...[id, head.link, canonicalJson(pruning)],
  );
  await writeChainEnd(tx, "head", { id, link: linkTo(head.link, pruningDigest(pruning)) });
}

const Statement = z.object({ id: z.int(), statement: z.string() });

/** The entries of the chain about pruned runs, with their places. Leaves out entries that no ptc has written. */
export async function readPrunings(db: Statements): Promise<Pruning[]> {
  const rows = await db.allParsed(Statement, "SELECT id, statement FROM prunings ORDER BY id");
  return rows.flatMap((each) => {
    const pruning = each.ok ? parsePruning(each.row.statement) : undefined;
    return each.ok && pruning !== undefined ? [{ ...pruning, id: each.row.id }] : [];
  });
}
