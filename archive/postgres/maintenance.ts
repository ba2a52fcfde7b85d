/** Operations on a database as a whole: its status, migration of its tables, taking an archive over, and changing keys. */
import * as z from "zod/mini";
import { ArchiveError } from "../archive-error.ts";
import { type ChainEnd, entryDigest, linkTo, parsePruning, pruningDigest } from "../chain.ts";
import { SEALED_KINDS, sealedDocument } from "../documents.ts";
import { type Sealed, sealedAs } from "../pending-store.ts";
import { digestsIn } from "../run-record.ts";
import { summarizeRun } from "../run-summary.ts";
import { readRun, type StoredEntry, type StoredRows } from "../verification.ts";
import {
  appendRuns,
  bytesOf,
  holdValues,
  inPieces,
  MAX_SENT_BYTES,
  type PreparedRun,
  prepareRun,
  putText,
  type Values,
} from "./append.ts";
import { lockHead, readChainEnd, writeChainEnd } from "./chain-ends.ts";
import { openPool, type PgDatabase, type Statements } from "./database.ts";
import { takeOverLog } from "./postgres-audit.ts";
import { releaseHeld } from "./prune.ts";
import { FLUSH, MIGRATIONS, type MONTHLY, makeMonth, migrate, monthOf, schemaVersion } from "./schema.ts";

/** The content of a database. Sizes are in bytes and include indexes. */
export interface StorageStatus {
  place: string;
  /** The version of the server. */
  server: string;
  /** The version of the tables, or 0 if there are none. */
  version: number;
  /** The version of the tables that this ptc makes. */
  newest: number;
  /** `undefined` if the tables have another version. */
  kept?:
    | {
        runs: number;
        /** The number of partitions, one for each month. */
        months: number;
        auditLines: number;
        waiting: number;
        logins: number;
        /** The number of values that are sealed with another key than the first, or with an unknown key. */
        sealedOtherwise: number;
        runBytes: number;
        valueBytes: number;
        auditBytes: number;
        wholeBytes: number;
      }
    | undefined;
}

/** Seals a value again. Returns the new bytes, `current` if nothing must change, or `unreadable` if no known key opens it. */
export type Reseal = (sealed: Uint8Array, purpose: string) => Uint8Array | "current" | "unreadable";

const ServerRow = z.object({ version: z.string() });
const CountRow = z.object({ count: z.int() });
const SizesRow = z.object({
  runs: z.int(),
  months: z.int(),
  values: z.int(),
  audit: z.int(),
  whole: z.int(),
});

/** @throws ArchiveError, also for the tables of a newer ptc. */
export async function storageStatus(url: string, reseal: Reseal): Promise<StorageStatus> {
  return withDatabase(url, async (db) => {
    const server = await db.get(ServerRow, "SELECT current_setting('server_version') AS version");
    const version = await schemaVersion(db);
    const found = {
      place: db.place,
      server: server?.version ?? "",
      version,
      newest: MIGRATIONS.length,
    };
    return version === MIGRATIONS.length ? { ...found, kept: await countKept(db, reseal) } : found;
  });
}

async function countKept(db: PgDatabase, reseal: Reseal): Promise<NonNullable<StorageStatus["kept"]>> {
  const count = async (from: string) =>
    (await db.get(CountRow, `SELECT count(*) AS count FROM ${from}`))?.count ?? 0;
  const size = (table: (typeof MONTHLY)[number]) =>
    `(SELECT coalesce(sum(pg_total_relation_size(relid)), 0) FROM pg_partition_tree('${table}'))`;
  const sizes = await db.get(
    SizesRow,
    `SELECT (${size("runs")} + ${size("run_tools")} + ${size("run_blobs")})::bigint AS runs,
       (SELECT count(*) FROM pg_inherits WHERE inhparent = 'runs'::regclass) AS months,
       ${size("blobs")}::bigint AS values, pg_total_relation_size('audit_lines') AS audit,
       pg_database_size(current_database()) AS whole`,
  );
  let sealedOtherwise = 0;
  for await (const { sealed, purpose } of sealedValues(db))
    if (reseal(sealed, purpose) !== "current") sealedOtherwise++;
  return {
    runs: await count("runs"),
    months: sizes?.months ?? 0,
    auditLines: await count("audit_lines"),
    waiting: await count("pending WHERE NOT gone"),
    logins: await count("documents WHERE kind = 'login'"),
    sealedOtherwise,
    runBytes: sizes?.runs ?? 0,
    valueBytes: sizes?.values ?? 0,
    auditBytes: sizes?.audit ?? 0,
    wholeBytes: sizes?.whole ?? 0,
  };
}

/** Creates or changes the tables for this ptc. @returns the version before and after. @throws ArchiveError */
export async function migrateStorage(url: string): Promise<{ place: string; before: number; now: number }> {
  return withDatabase(url, async (db) => {
    const before = await migrate(db);
    return { place: db.place, before, now: MIGRATIONS.length };
  });
}

const SealedRow = z.object({ name: z.string(), what: z.string(), sealed: z.instanceof(Uint8Array) });
const WaitingRow = z.object({
  ticket: z.string(),
  principal: z.string(),
  askedAt: z.int(),
  expiresAt: z.int(),
  sealed: z.instanceof(Uint8Array),
});

/** Every sealed value, with the purpose that it is sealed for, and a function that replaces it in its row. */
async function* sealedValues(
  db: Statements,
): AsyncGenerator<{ sealed: Uint8Array; purpose: string; replace: (by: Uint8Array) => Promise<number> }> {
  for (const what of ["listing", "question", "answer", "run"] satisfies Sealed[]) {
    const rows = await db.all(
      WaitingRow,
      `SELECT ticket, principal, asked_at AS "askedAt", expires_at AS "expiresAt", ${what} AS sealed
       FROM pending WHERE NOT gone AND ${what} IS NOT NULL`,
    );
    const update = `UPDATE pending SET ${what} = $1 WHERE ticket = $2 AND ${what} = $3`;
    for (const { sealed, ...facts } of rows)
      yield {
        sealed,
        purpose: sealedAs(what, facts),
        replace: (by) => db.run(update, by, facts.ticket, sealed),
      };
  }
  const rows = await db.all(
    SealedRow,
    "SELECT kind AS what, name, content AS sealed FROM documents WHERE kind = ANY($1)",
    SEALED_KINDS,
  );
  // A process that changes a document meanwhile seals it with the first key.
  const update = "UPDATE documents SET content = $1 WHERE kind = $2 AND name = $3 AND content = $4";
  for (const { what, name, sealed } of rows)
    yield {
      sealed,
      purpose: sealedDocument(what, name),
      replace: (by) => db.run(update, by, what, name, sealed),
    };
}

/** Seals everything with the first key. @throws ArchiveError */
export async function reencryptStorage(
  url: string,
  reseal: Reseal,
): Promise<{ place: string; reencrypted: number; current: number; unreadable: number }> {
  return withDatabase(url, async (db) => {
    await migrate(db);
    const counts = { reencrypted: 0, current: 0, unreadable: 0 };
    for await (const { sealed, purpose, replace } of sealedValues(db)) {
      const resealed = reseal(sealed, purpose);
      if (typeof resealed === "string") counts[resealed]++;
      else counts.reencrypted += await replace(resealed);
    }
    return { place: db.place, ...counts };
  });
}

/** The number of entries of a chain that are taken over together. */
const GROUP = 50;

/**
 * Takes a whole archive over, entry by entry. Records keep their digests and the chain keeps its links, so that earlier heads of
 * the archive prove as much as before. Checks each run before it takes it. Skips entries that were taken earlier.
 *
 * @param onProgress receives the number of entries that are done, and of all entries.
 * @throws ArchiveError `conflict` if the database has runs that are not from this archive, and `tampered` for a run that differs
 *   from what was archived.
 */
export async function takeOver(
  url: string,
  rows: StoredRows,
  onProgress: (done: number, of: number) => void = () => {},
): Promise<{ place: string; taken: number; head: string }> {
  return withDatabase(url, async (db) => {
    await migrate(db);
    const [start, end] = [await rows.chainEnd("start"), await rows.chainEnd("head")];
    let at = await readChainEnd(db, "head");
    let previous: ChainEnd = start;
    let taken = 0;
    if (at.id === 0) at = await beginAt(db, start);
    if (at.id < start.id || at.id > end.id) throw hasOwnRuns(db, rows);
    let group: TakenEntry[] = [];
    const flush = async () => {
      if (group.length === 0) return;
      at = await append(db, at, group, rows);
      taken += group.length;
      group = [];
      onProgress(at.id - start.id, end.id - start.id);
    };
    for await (const stored of rows.entries()) {
      if (stored.kind === "damaged") throw new ArchiveError("tampered", stored.message);
      const next = follow(previous, stored);
      if (stored.place === at.id && next.link !== at.link) throw hasOwnRuns(db, rows);
      previous = next;
      if (stored.place <= at.id) continue;
      group.push({ stored, link: next.link });
      if (group.length >= GROUP) await flush();
    }
    await flush();
    if (at.id !== end.id || at.link !== end.link)
      throw new ArchiveError(
        "tampered",
        `the chain of ${rows.place} does not end in its head: do not trust it`,
      );
    await db.exec(FLUSH);
    return { place: db.place, taken, head: `${at.id}:${at.link}` };
  });
}

/** Takes the lines of an audit log in files over (`takeOverLog`). @throws ArchiveError */
export async function takeOverAudit(
  url: string,
  path: string,
  onProgress: (done: number, of: number) => void = () => {},
): Promise<{ place: string; taken: number; head: string | undefined }> {
  return withDatabase(url, async (db) => {
    await migrate(db);
    return { place: db.place, ...(await takeOverLog(db, path, onProgress)) };
  });
}

interface TakenEntry {
  stored: Exclude<StoredEntry, { kind: "damaged" }>;
  link: string;
}

/** The end of the chain after an entry. @throws ArchiveError if the entry does not follow. */
function follow(before: ChainEnd, stored: TakenEntry["stored"]): ChainEnd {
  const isNext = stored.place === before.id + 1;
  if (!isNext || (stored.kind !== "pruned" && stored.previous !== before.link)) {
    const message = `record ${before.id + 1} is missing, or was replaced: \`ptc runs verify\` shows more; nothing after it is taken over`;
    throw new ArchiveError("tampered", message);
  }
  return { id: stored.place, link: linkTo(before.link, digestOfEntry(stored)) };
}

function digestOfEntry(stored: TakenEntry["stored"]): string {
  if (stored.kind === "run") return entryDigest(stored.entry);
  if (stored.kind === "pruned") return stored.entry;
  const pruning = parsePruning(stored.statement);
  if (pruning === undefined)
    throw new ArchiveError("tampered", `entry ${stored.place} was not written by ptc`);
  return pruningDigest(pruning);
}

function hasOwnRuns({ place }: PgDatabase, rows: StoredRows): ArchiveError {
  const message = `${place} already has runs that are not from ${rows.place}: only an archive without runs can take another over; use \`ptc runs export\` and \`ptc runs import\` for single runs`;
  return new ArchiveError("conflict", message);
}

/** Begins an empty chain at the start of another chain. */
async function beginAt(db: PgDatabase, start: ChainEnd): Promise<ChainEnd> {
  return db.transaction(async (tx) => {
    const head = await lockHead(tx);
    if (head.id > 0 || start.id === 0) return head;
    await writeChainEnd(tx, "start", start);
    await writeChainEnd(tx, "head", start);
    return start;
  });
}

/** Appends entries in one transaction. @throws ArchiveError if somebody has appended others since. */
async function append(
  db: PgDatabase,
  at: ChainEnd,
  group: readonly TakenEntry[],
  rows: StoredRows,
): Promise<ChainEnd> {
  const holder = `take-over ${at.link}`;
  const prepared = new Map<number, PreparedRun>();
  for (const { stored } of group)
    if (stored.kind === "run") prepared.set(stored.place, await prepare(db, stored.runId, rows, holder));
  for (const month of new Set([...prepared.values()].map((run) => run.month))) await makeMonth(db, month);
  const end = await db.transaction(async (tx) => {
    let head = await lockHead(tx);
    if (head.id !== at.id || head.link !== at.link) throw hasOwnRuns(db, rows);
    for (const { stored, link } of group) {
      const run = prepared.get(stored.place);
      if (run !== undefined) await appendRuns(tx, [run]);
      else if (stored.kind === "pruned")
        await tx.run("INSERT INTO tombstones VALUES ($1, $2, 0)", stored.place, stored.entry);
      else if (stored.kind === "pruning")
        await tx.run("INSERT INTO prunings VALUES ($1, $2, $3)", stored.place, head.link, stored.statement);
      if (run === undefined) await writeChainEnd(tx, "head", { id: stored.place, link });
      head = await readChainEnd(tx, "head");
      if (head.link !== link) throw hasOwnRuns(db, rows);
    }
    return head;
  });
  await releaseHeld(db, holder);
  return end;
}

/** Reads and checks a run with everything that it names. Sends its texts ahead if they are too large for one statement. */
async function prepare(
  db: PgDatabase,
  runId: string,
  rows: StoredRows,
  holder: string,
): Promise<PreparedRun> {
  const run = await readRun(rows, runId);
  const values: Values = new Map();
  for (const digest of digestsIn(run.record)) putText(values, await run.textOf(digest));
  const origin =
    run.importedAt === null ? undefined : { importedAt: run.importedAt, origin: run.origin ?? "" };
  const prepared = prepareRun(run.record, summarizeRun(run.record, run), values, origin);
  if (bytesOf(values) <= MAX_SENT_BYTES) return prepared;
  const nowMs = Date.now();
  await makeMonth(db, monthOf(nowMs));
  for (const piece of inPieces(values)) await holdValues(db, piece, { holder, month: monthOf(nowMs), nowMs });
  for (const digest of values.keys()) values.set(digest, undefined);
  return prepared;
}

/** Works with a separate pool, because the tables may have another version than this ptc's. */
async function withDatabase<T>(url: string, work: (db: PgDatabase) => Promise<T>): Promise<T> {
  const db = await openPool(url);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}
