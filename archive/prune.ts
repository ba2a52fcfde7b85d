import * as z from "zod/mini";
import { entryDigest, linkTo, readChainEnd, writeChainEnd } from "./chain.ts";
import type { Database } from "./database.ts";
import { dropUnused } from "./sweep.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** Runs deleted in one transaction: others who write wait for it. */
const BATCH = 200;

export interface Pruned {
  runs: number;
  blobs: number;
  /** That their blobs took on disk. */
  bytes: number;
}

export interface PruneOptions {
  /** Runs that started before this are deleted. */
  beforeMs: number;
  nowMs: number;
  /** Deletes at most this many, the oldest first. */
  maxRuns?: number;
}

const Expired = z.object({
  id: z.int(),
  record_digest: z.string(),
  imported_at: z.nullable(z.int()),
  origin: z.nullable(z.string()),
});
const BlobRef = z.object({ blob: z.int() });
const Tombstone = z.object({ id: z.int(), entry: z.string() });
const Meta = z.object({ value: z.int() });

/**
 * Deletes old runs, and whatever no other run refers to, and gives the space back. Each leaves its place in the chain.
 *
 * @throws ArchiveError
 */
export function pruneRuns(db: Database, { beforeMs, nowMs, maxRuns = Infinity }: PruneOptions): Pruned {
  const total: Pruned = { runs: 0, blobs: 0, bytes: 0 };
  for (;;) {
    const batch = Math.min(BATCH, maxRuns - total.runs);
    const pruned = db.transaction(() => pruneBatch(db, beforeMs, nowMs, batch));
    total.runs += pruned.runs;
    total.blobs += pruned.blobs;
    total.bytes += pruned.bytes;
    if (pruned.runs < BATCH) break;
  }
  if (total.runs > 0) db.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(PASSIVE)");
  return total;
}

/** Runs that one call of `pruneDaily` deletes. */
const DAILY_MAX_RUNS = 400;

/**
 * Applies `keep_days`, once a day for all processes that share the archive. Deletes a bounded number of runs, so that
 * nobody waits long for it; while some are left, the next call goes on.
 */
export function pruneDaily(db: Database, keepDays: number, nowMs: number): void {
  const last = db.get(Meta, "SELECT value FROM meta WHERE key = 'pruned_at'")?.value ?? 0;
  if (nowMs - last < DAY_MS && nowMs >= last) return;
  const { runs } = pruneRuns(db, { beforeMs: nowMs - keepDays * DAY_MS, nowMs, maxRuns: DAILY_MAX_RUNS });
  if (runs === DAILY_MAX_RUNS) return;
  const upsert =
    "INSERT INTO meta VALUES ('pruned_at', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
  db.run(upsert, nowMs);
}

function pruneBatch(db: Database, beforeMs: number, nowMs: number, limit: number): Pruned {
  const expired = db.all(
    Expired,
    // An old run that was imported lately has been wanted lately.
    `SELECT id, record_digest, imported_at, origin FROM runs
     WHERE started_at < ? AND coalesce(imported_at, started_at) < ? ORDER BY started_at LIMIT ?`,
    ...[beforeMs, beforeMs, limit],
  );
  const blobs = new Set<number>();
  for (const { id, record_digest, imported_at, origin } of expired) {
    for (const { blob } of db.all(BlobRef, "SELECT blob FROM run_blobs WHERE run = ?", id)) blobs.add(blob);
    const entry = entryDigest({ recordDigest: record_digest, importedAt: imported_at, origin });
    db.run("DELETE FROM runs WHERE id = ?", id);
    db.run("INSERT INTO tombstones (id, entry, pruned_at) VALUES (?, ?, ?)", id, entry, nowMs);
  }
  forgetLeadingTombstones(db);
  db.run("DELETE FROM tools WHERE NOT EXISTS (SELECT 1 FROM run_tools WHERE tool = tools.id)");
  return { runs: expired.length, ...dropUnused(db, blobs) };
}

/** Entries that nothing older is left of become the start of the chain. */
function forgetLeadingTombstones(db: Database): void {
  let { id, link } = readChainEnd(db, "start");
  for (;;) {
    const next = db.get(Tombstone, "SELECT id, entry FROM tombstones WHERE id = ?", id + 1);
    if (next === undefined) break;
    id = next.id;
    link = linkTo(link, next.entry);
  }
  db.run("DELETE FROM tombstones WHERE id <= ?", id);
  writeChainEnd(db, "start", { id, link });
}
