/**
 * Deletes old runs. If a whole month is old, its partitions are dropped. If only some of its runs are old, rows are deleted. In
 * either case each run leaves its entry in the chain, and the values that only these runs used are deleted with them.
 */
import * as z from "zod/mini";
import type { Pruned, PruneOptions } from "../archive-store.ts";
import { entryDigest, statePruning } from "../chain.ts";
import { ABANDONED_AFTER_MS } from "../stored-text.ts";
import { appendPruning, lockHead, readChainEnd, readPrunings, writeChainEnd } from "./chain-ends.ts";
import { type ParsedRow, type PgDatabase, type Statements, StoredText } from "./database.ts";
import {
  changeRunDays,
  changeToolDays,
  LOCK_VALUES,
  MONTHLY,
  monthAfter,
  monthOf,
  partitionOf,
  WAIT_FOR_READERS,
} from "./schema.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** The most runs deleted in one transaction. Processes that archive wait for each. */
const BATCH = 1_000;
/** The most runs that one call of `pruneDaily` deletes row by row. */
const DAILY_MAX_RUNS = 10_000;

const Expired = z.object({
  id: z.int(),
  record_digest: z.string(),
  imported_at: z.nullable(z.int()),
  origin: z.nullable(StoredText),
});
type Expired = z.infer<typeof Expired>;
const EXPIRED = "id, record_digest, imported_at, origin";

/** @throws ArchiveError */
export async function pruneRuns(
  db: PgDatabase,
  { beforeMs, nowMs }: PruneOptions,
  maxRuns = Number.POSITIVE_INFINITY,
): Promise<Pruned> {
  const total: Pruned = { runs: 0, blobs: 0, bytes: 0 };
  for (const month of await monthsOf(db))
    if (monthAfter(month) <= beforeMs) add(total, await dropMonth(db, month, nowMs));
  if (beforeMs === Number.POSITIVE_INFINITY) return total;
  const old = `SELECT ${EXPIRED} FROM runs WHERE month <= $1 AND coalesce(imported_at, started_at) < $2
    ORDER BY id LIMIT $3`;
  const dated = Math.ceil(Math.min(Math.max(beforeMs, 0), Number.MAX_SAFE_INTEGER));
  for (let left = maxRuns; left > 0; ) {
    const pruned = await deleteSome(db, nowMs, (tx) =>
      tx.allParsed(Expired, old, monthOf(dated), dated, Math.min(BATCH, left)),
    );
    add(total, pruned);
    left -= pruned.runs;
    if (pruned.runs < BATCH) break;
  }
  return total;
}

/** Deletes runs by their ids, including damaged runs. @throws ArchiveError */
export async function deleteRunsById(
  db: PgDatabase,
  runIds: readonly string[],
  nowMs: number,
): Promise<Pruned> {
  const total: Pruned = { runs: 0, blobs: 0, bytes: 0 };
  for (let i = 0; i < runIds.length; i += BATCH) {
    const batch = runIds.slice(i, i + BATCH);
    const select = `SELECT ${EXPIRED} FROM runs WHERE run_id = ANY($1)`;
    add(total, await deleteSome(db, nowMs, (tx) => tx.allParsed(Expired, select, batch)));
  }
  return total;
}

function add(total: Pruned, { runs, blobs, bytes }: Pruned): void {
  total.runs += runs;
  total.blobs += blobs;
  total.bytes += bytes;
}

const Meta = z.object({ value: z.int() });

/**
 * Applies `keep_days` once a day, for all processes that share the archive. Deletes a bounded number of rows, so that nobody
 * waits long. If some are left, the next call continues.
 */
export async function pruneDaily(db: PgDatabase, keepDays: number, nowMs: number): Promise<void> {
  const last = (await db.get(Meta, "SELECT value FROM meta WHERE key = 'pruned_at'"))?.value ?? 0;
  if (nowMs - last < DAY_MS && nowMs >= last) return;
  const { runs } = await pruneRuns(db, { beforeMs: nowMs - keepDays * DAY_MS, nowMs }, DAILY_MAX_RUNS);
  if (runs >= DAILY_MAX_RUNS) return;
  await db.run(
    "INSERT INTO meta VALUES ('pruned_at', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    nowMs,
  );
}

const Partition = z.object({ name: z.string() });

/** The months that have partitions, oldest first. */
async function monthsOf(db: Statements): Promise<number[]> {
  const rows = await db.all(
    Partition,
    `SELECT child.relname::text AS name FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
     WHERE inhparent = 'runs'::regclass ORDER BY 1`,
  );
  return rows.flatMap(({ name }) => {
    const [, year, month] = /^runs_(\d{4})_(\d\d)$/.exec(name) ?? [];
    return year === undefined ? [] : [Date.UTC(Number(year), Number(month) - 1)];
  });
}

const Freed = z.object({ blobs: z.int(), bytes: z.int() });

/** Deletes a whole month. Values that other months still use move to the newest month. */
async function dropMonth(db: PgDatabase, month: number, nowMs: number): Promise<Pruned> {
  return db.transaction(async (tx) => {
    await tx.exec(`${WAIT_FOR_READERS}; SELECT ${LOCK_VALUES}`);
    await lockHead(tx);
    const old = partitionOf("runs", month);
    const runs = await tx.allParsed(Expired, `SELECT ${EXPIRED} FROM ${old} ORDER BY id`);
    await tx.exec(changeRunDays(old, "-"));
    await tx.exec(changeToolDays(partitionOf("run_tools", month), "-"));
    await state(tx, runs, nowMs);
    const blobs = partitionOf("blobs", month);
    // Two processes that stored the same text in two months at the same time made two copies.
    await tx.run(
      `UPDATE run_blobs SET blob = other.id FROM ${blobs} AS old JOIN blobs AS other
         ON other.digest = old.digest AND other.month <> $1 WHERE run_blobs.blob = old.id AND run_blobs.month <> $1`,
      month,
    );
    const used = `(EXISTS (SELECT FROM run_blobs WHERE blob = old.id AND month <> $1)
      OR EXISTS (SELECT FROM held_blobs WHERE blob = old.id))`;
    const target = (await monthsOf(tx)).filter((each) => each !== month).at(-1);
    if (target !== undefined)
      await tx.run(`UPDATE blobs AS old SET month = $2 WHERE month = $1 AND ${used}`, month, target);
    // There is no month to move values to, so only rows are deleted.
    else if (await hasRows(tx, `${blobs} AS old WHERE ${used}`, month))
      return { runs: runs.length, ...(await deleteRows(tx, runs)) };
    const freed = await tx.get(
      Freed,
      `SELECT count(*) AS blobs, coalesce(sum(length(content)), 0)::bigint AS bytes FROM ${blobs}`,
    );
    await tx.exec(`DROP TABLE ${MONTHLY.map((table) => partitionOf(table, month)).join(", ")}`);
    await dropUnusedTools(tx);
    return { runs: runs.length, blobs: freed?.blobs ?? 0, bytes: freed?.bytes ?? 0 };
  });
}

const Exists = z.object({ found: z.boolean() });

async function hasRows(tx: Statements, from: string, ...values: number[]): Promise<boolean> {
  return (await tx.get(Exists, `SELECT EXISTS (SELECT FROM ${from}) AS found`, ...values))?.found === true;
}

/** Deletes the runs that are selected, in one transaction. */
async function deleteSome(
  db: PgDatabase,
  nowMs: number,
  select: (tx: Statements) => Promise<ParsedRow<Expired>[]>,
): Promise<Pruned> {
  return db.transaction(async (tx) => {
    await tx.exec(`SELECT ${LOCK_VALUES}`);
    await lockHead(tx);
    const runs = await select(tx);
    if (runs.length === 0) return { runs: 0, blobs: 0, bytes: 0 };
    await state(tx, runs, nowMs);
    const freed = await deleteRows(tx, runs);
    await dropUnusedTools(tx);
    return { runs: runs.length, ...freed };
  });
}

async function deleteRows(
  tx: Statements,
  runs: readonly ParsedRow<Expired>[],
): Promise<Pick<Pruned, "blobs" | "bytes">> {
  const ids = runs.map((run) => Number(run.ok ? run.row.id : run.raw.id));
  await tx.run("DELETE FROM runs WHERE id = ANY($1)", ids);
  await tx.run("DELETE FROM run_tools WHERE run = ANY($1)", ids);
  const dropped = await tx.get(
    Freed,
    `WITH gone AS (DELETE FROM run_blobs WHERE run = ANY($1) RETURNING run, blob),
       unused AS (
         SELECT DISTINCT blob FROM gone
         WHERE NOT EXISTS (SELECT FROM run_blobs AS other WHERE other.blob = gone.blob AND NOT other.run = ANY($1))
           AND NOT EXISTS (SELECT FROM held_blobs WHERE held_blobs.blob = gone.blob)
       ),
       dropped AS (DELETE FROM blobs USING unused WHERE blobs.id = unused.blob RETURNING length(content) AS bytes)
     SELECT count(*) AS blobs, coalesce(sum(bytes), 0)::bigint AS bytes FROM dropped`,
    ids,
  );
  return { blobs: dropped?.blobs ?? 0, bytes: dropped?.bytes ?? 0 };
}

async function dropUnusedTools(tx: Statements): Promise<void> {
  await tx.run("DELETE FROM tools WHERE NOT EXISTS (SELECT FROM run_tools WHERE tool = tools.id)");
}

const Tombstone = z.object({ id: z.int(), entry: z.string() });

/** Leaves the entries of runs in the chain, appends an entry that names them, and deletes entries before the chain's new start. */
async function state(tx: Statements, runs: readonly ParsedRow<Expired>[], at: number): Promise<void> {
  if (runs.length === 0) return;
  const entries = new Map(runs.map(entryOf));
  for (const { id, entry } of await tx.all(Tombstone, "SELECT id, entry FROM tombstones"))
    if (!entries.has(id)) entries.set(id, entry);
  const places = runs.map((run) => Number(run.ok ? run.row.id : run.raw.id));
  const before = await readChainEnd(tx, "start");
  const prunings = await readPrunings(tx);
  const { start, pruning } = statePruning(before, prunings, { places, at }, (place) => entries.get(place));
  if (start.id !== before.id) {
    await tx.run("DELETE FROM tombstones WHERE id <= $1", start.id);
    await tx.run("DELETE FROM prunings WHERE id <= $1", start.id);
    await writeChainEnd(tx, "start", start);
  }
  const left = places.filter((place) => place > start.id);
  await tx.run(
    `INSERT INTO tombstones (id, entry, pruned_at) SELECT id, entry, $3 FROM unnest($1::bigint[], $2::text[]) AS left_of(id, entry)
     ON CONFLICT (id) DO UPDATE SET entry = excluded.entry`,
    ...[left, left.map((place) => entries.get(place) ?? ""), at],
  );
  await appendPruning(tx, pruning);
}

function entryOf(run: ParsedRow<Expired>): [place: number, entry: string] {
  if (run.ok) {
    const { id, record_digest: recordDigest, imported_at: importedAt, origin } = run.row;
    return [id, entryDigest({ recordDigest, importedAt, origin })];
  }
  // The chain is already broken here. Keeping the stored digest leaves the break visible.
  const recordDigest = String(run.raw.record_digest);
  return [Number(run.raw.id), entryDigest({ recordDigest, importedAt: null, origin: null })];
}

/** Renews a holder's hold on its values, so that they are not swept. */
export async function holdOn(db: Statements, holder: string, nowMs: number): Promise<void> {
  await db.run("UPDATE held_blobs SET held_at = $1 WHERE holder = $2", nowMs, holder);
}

/** Releases the values held for a run that will not be stored, or for an import that has ended. */
export async function releaseHeld(db: PgDatabase, holder: string): Promise<void> {
  await release(db, "holder = $1", holder);
}

/** Removes values held for runs that never ended because their ptc was killed. */
export async function sweepAbandoned(db: PgDatabase, nowMs: number): Promise<void> {
  const abandonedBefore = nowMs - ABANDONED_AFTER_MS;
  if (await hasRows(db, "held_blobs WHERE held_at < $1", abandonedBefore))
    await release(db, "held_at < $1", abandonedBefore);
}

async function release(db: PgDatabase, condition: string, value: string | number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.exec(`SELECT ${LOCK_VALUES}`);
    await tx.run(
      `WITH gone AS (DELETE FROM held_blobs WHERE ${condition} RETURNING holder, blob)
       DELETE FROM blobs USING gone WHERE blobs.id = gone.blob
         AND NOT EXISTS (SELECT FROM run_blobs WHERE run_blobs.blob = gone.blob)
         AND NOT EXISTS (SELECT FROM held_blobs AS other WHERE other.blob = gone.blob AND NOT ${condition.replaceAll(/\b(holder|held_at)\b/g, "other.$1")})`,
      value,
    );
  });
}
