import * as z from "zod/mini";
import type { Pruned, PruneOptions } from "../archive-store.ts";
import { entryDigest, statePruning } from "../chain.ts";
import { dropUnused } from "./blobs.ts";
import { appendPruning, readChainEnd, readPrunings, writeChainEnd } from "./chain-ends.ts";
import type { Database, ParsedRow, SqlValue } from "./database.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** The most runs deleted in one transaction. Other writers wait for each. */
const BATCH = 200;

const Expired = z.object({
  id: z.int(),
  record_digest: z.string(),
  imported_at: z.nullable(z.int()),
  origin: z.nullable(z.string()),
});
type Expired = z.infer<typeof Expired>;
const EXPIRED = Object.keys(Expired.shape).join(", ");

const BlobRef = z.object({ blob: z.int() });
const Tombstone = z.object({ entry: z.string() });
const Meta = z.object({ value: z.int() });
const PRUNED_AT = `SELECT min(max(value, 0), ${Number.MAX_SAFE_INTEGER}) AS value FROM meta WHERE key = 'pruned_at'`;

/**
 * Deletes old runs and the values that only they used, and frees the space. Each run leaves its entry in the chain.
 *
 * @param maxRuns the most runs to delete, oldest first.
 * @throws ArchiveError
 */
export function pruneRuns(db: Database, { beforeMs, nowMs }: PruneOptions, maxRuns = Infinity): Pruned {
  const total: Pruned = { runs: 0, blobs: 0, bytes: 0 };
  for (;;) {
    const batch = Math.min(BATCH, maxRuns - total.runs);
    const pruned = db.transaction(() => deleteRuns(db, expiredRuns(db, beforeMs, batch), nowMs));
    add(total, pruned);
    if (pruned.runs < BATCH) break;
  }
  giveBackSpace(db, total);
  return total;
}

/**
 * Deletes runs by their ids, including damaged runs, and the values that only they used.
 *
 * @throws ArchiveError
 */
export function deleteRunsById(db: Database, runIds: readonly string[], nowMs: number): Pruned {
  const total: Pruned = { runs: 0, blobs: 0, bytes: 0 };
  for (let i = 0; i < runIds.length; i += BATCH) {
    const batch = runIds.slice(i, i + BATCH);
    const select = `SELECT ${EXPIRED} FROM runs WHERE run_id IN (SELECT value FROM json_each(?))`;
    const rows = () => db.allParsed(Expired, select, JSON.stringify(batch));
    add(
      total,
      db.transaction(() => deleteRuns(db, rows(), nowMs)),
    );
  }
  giveBackSpace(db, total);
  return total;
}

function add(total: Pruned, { runs, blobs, bytes }: Pruned): void {
  total.runs += runs;
  total.blobs += blobs;
  total.bytes += bytes;
}

function giveBackSpace(db: Database, { runs }: Pruned): void {
  if (runs > 0) db.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(PASSIVE)");
}

/** The most runs that one call of `pruneDaily` deletes. */
const DAILY_MAX_RUNS = 400;

/**
 * Applies `keep_days` once a day, for all processes that share the archive. Deletes a bounded number of runs, so that nobody
 * waits long. If some are left, the next call continues.
 */
export function pruneDaily(db: Database, keepDays: number, nowMs: number): void {
  const last = db.get(Meta, PRUNED_AT)?.value ?? 0;
  if (nowMs - last < DAY_MS && nowMs >= last) return;
  const { runs } = pruneRuns(db, { beforeMs: nowMs - keepDays * DAY_MS, nowMs }, DAILY_MAX_RUNS);
  if (runs === DAILY_MAX_RUNS) return;
  const upsert =
    "INSERT INTO meta VALUES ('pruned_at', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
  db.run(upsert, nowMs);
}

/**
 * The oldest runs. The age of a run counts from its start, that of an imported run from its import, since somebody wanted it
 * then. A run whose start lies in the future is not old before that time, because this machine's clock may be wrong.
 */
function expiredRuns(db: Database, beforeMs: number, limit: number): ParsedRow<Expired>[] {
  const started = db.allParsed(
    Expired,
    `SELECT ${EXPIRED} FROM runs
     WHERE started_at < ? AND coalesce(imported_at, started_at) < ? ORDER BY started_at LIMIT ?`,
    ...[beforeMs, beforeMs, limit],
  );
  if (started.length === limit) return started;
  const imported = db.allParsed(
    Expired,
    `SELECT ${EXPIRED} FROM runs WHERE started_at >= ? AND imported_at < ? LIMIT ?`,
    ...[beforeMs, beforeMs, limit - started.length],
  );
  return [...started, ...imported];
}

function deleteRuns(db: Database, runs: readonly ParsedRow<Expired>[], nowMs: number): Pruned {
  const blobs = new Set<number>();
  for (const { id, entry } of runs.map(placeOf)) {
    for (const each of db.allParsed(BlobRef, "SELECT blob FROM run_blobs WHERE run = ?", id)) {
      if (each.ok) blobs.add(each.row.blob);
    }
    db.run("DELETE FROM runs WHERE id = ?", id);
    db.run("INSERT OR REPLACE INTO tombstones (id, entry, pruned_at) VALUES (?, ?, ?)", id, entry, nowMs);
  }
  if (runs.length > 0)
    state(
      db,
      runs.map((run) => Number(run.ok ? run.row.id : run.raw.id)),
      nowMs,
    );
  db.run("DELETE FROM tools WHERE NOT EXISTS (SELECT 1 FROM run_tools WHERE tool = tools.id)");
  return { runs: runs.length, ...dropUnused(db, blobs) };
}

function placeOf(run: ParsedRow<Expired>): { id: SqlValue; entry: string } {
  if (!run.ok) {
    // The chain is already broken here. Keeping the stored digest leaves the break visible.
    const recordDigest = String(run.raw.record_digest);
    return { id: run.raw.id ?? null, entry: entryDigest({ recordDigest, importedAt: null, origin: null }) };
  }
  const { id, record_digest, imported_at, origin } = run.row;
  return { id, entry: entryDigest({ recordDigest: record_digest, importedAt: imported_at, origin }) };
}

/** Appends an entry that names the pruned places, and deletes entries before the chain's new start. */
function state(db: Database, places: readonly number[], at: number): void {
  const entryAt = (place: number) =>
    db.get(Tombstone, "SELECT entry FROM tombstones WHERE id = ?", place)?.entry;
  const before = readChainEnd(db, "start");
  const { start, pruning } = statePruning(before, readPrunings(db), { places, at }, entryAt);
  if (start.id !== before.id) {
    db.run("DELETE FROM tombstones WHERE id <= ?", start.id);
    db.run("DELETE FROM prunings WHERE id <= ?", start.id);
    writeChainEnd(db, "start", start);
  }
  appendPruning(db, pruning);
}
