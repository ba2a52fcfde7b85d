import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import { textDigest } from "../../protocol/canonical-json.ts";
import { matchesPattern } from "../../protocol/tool-names.ts";
import { ArchiveError } from "../archive-error.ts";
import type {
  ArchiveStore,
  FollowingRuns,
  KeptHead,
  PendingRun,
  Pruned,
  PruneOptions,
  RunImport,
  RunOrigin,
  Verification,
} from "../archive-store.ts";
import type { ArchivedRun } from "../archived-run.ts";
import { LAST_INSTANT_MS, LONGEST_MS, MAX_CALLS, MAX_COUNT } from "../bounds.ts";
import { ListedRun, type PageFilter, type RunFilter, type RunPage } from "../listed-run.ts";
import { CheckedImport, type ImportRows } from "../run-import.ts";
import { digestsIn, type RunRecord } from "../run-record.ts";
import {
  type FoundRuns,
  findMeant,
  MAX_CANDIDATES,
  type Meant,
  namesSeveral,
  parseReference,
} from "../run-reference.ts";
import { DayStats, DayTiming, type Stats, Timing, type Timings, ToolStats, totalOf } from "../run-stats.ts";
import type { RunSummary } from "../run-summary.ts";
import { damagedRun, readRun, type StoredRows, verifyArchive } from "../verification.ts";
import { blobIdOf, holdBlob, putBlob, readBlob, releaseHeld } from "./blobs.ts";
import { readChainEnd } from "./chain-ends.ts";
import { fileAt, openForReading, openForWriting, tryWriting } from "./connection.ts";
import type { Database, SqlValue } from "./database.ts";
import { deleteRunsById, pruneRuns } from "./prune.ts";
import { appendRun, recordDigestOf } from "./store-run.ts";
import { SqliteRows } from "./stored-rows.ts";
import type { WriterOptions } from "./writer/run-writer.ts";
import { SqliteArchiveWriter } from "./writer/sqlite-archive-writer.ts";

/**
 * Keeps runs in one SQLite file. Connections are opened on first use: one for reading and one for deleting and importing. A
 * separate thread archives runs.
 */
export class SqliteArchiveStore implements ArchiveStore {
  readonly #path: string;
  readonly #writer: SqliteArchiveWriter;
  #reading: { db: Database; file: string | undefined } | undefined;
  /** Connections to files that are no longer at the path. Runs that were read may still read values through them. */
  readonly #replaced: Database[] = [];
  #changing: Database | undefined;
  /** A connection that is kept for the next snapshot. */
  #idle: { db: Database; file: string | undefined } | undefined;

  /** @param workerModule the `writer-worker` module, if it is not beside the writer. */
  constructor(options: WriterOptions, workerModule?: URL) {
    this.#path = options.path;
    this.#writer = new SqliteArchiveWriter(options, workerModule);
  }

  begin(runId: string): PendingRun {
    return this.#writer.begin(runId);
  }

  async exists(): Promise<boolean> {
    try {
      this.#toRead();
      return true;
    } catch (error) {
      if (error instanceof ArchiveError && error.code === "missing") return false;
      throw error;
    }
  }

  async tryWriting(): Promise<void> {
    tryWriting(this.#path);
  }

  async list(filter: PageFilter): Promise<RunPage> {
    return listRunPage(this.#toRead(), filter);
  }

  async following(position: number, limit: number): Promise<FollowingRuns> {
    return listFollowing(this.#toRead(), position, limit);
  }

  async find(reference: string): Promise<FoundRuns> {
    return findRuns(this.#toRead(), reference);
  }

  async findIds(reference: string): Promise<string[]> {
    return findRunIds(this.#toRead(), reference);
  }

  async read(runId: string): Promise<ArchivedRun> {
    const later = this.#toRead();
    return this.#snapshot((rows) => readRun(rows, runId, async (digest) => readBlob(later, digest)));
  }

  async stats(filter: { sinceMs?: number }): Promise<Stats> {
    return readStats(this.#toRead(), filter);
  }

  async timings(filter: { sinceMs?: number }): Promise<Timings> {
    return readTimings(this.#toRead(), filter);
  }

  async verify(heads: readonly KeptHead[] = []): Promise<Verification> {
    return this.#snapshot((rows) => verifyArchive(rows, heads));
  }

  async head(): Promise<string> {
    const { id, link } = readChainEnd(this.#toRead(), "head");
    return `${id}:${link}`;
  }

  async prune(options: PruneOptions): Promise<Pruned> {
    return pruneRuns(this.#toDelete(), options);
  }

  async delete(runIds: readonly string[], nowMs: number): Promise<Pruned> {
    return deleteRunsById(this.#toDelete(), runIds, nowMs);
  }

  async beginImport(origin: RunOrigin): Promise<RunImport> {
    return importInto(this.#toChange(), origin);
  }

  async close(): Promise<void> {
    await this.#writer.close();
    for (const db of [this.#reading?.db, this.#changing, this.#idle?.db, ...this.#replaced.splice(0)])
      db?.close();
    this.#reading = undefined;
    this.#changing = undefined;
    this.#idle = undefined;
  }

  #toRead(): Database {
    const file = fileAt(this.#path);
    if (this.#reading !== undefined && this.#reading.file !== file) {
      this.#replaced.push(this.#reading.db);
      this.#reading = undefined;
    }
    this.#reading ??= { db: openForReading(this.#path), file };
    return this.#reading.db;
  }

  /** Does work on one state of the archive, through a connection that nothing else uses meanwhile. */
  async #snapshot<T>(work: (rows: StoredRows) => Promise<T>): Promise<T> {
    const file = fileAt(this.#path);
    const idle = this.#idle;
    this.#idle = undefined;
    if (idle !== undefined && idle.file !== file) idle.db.close();
    const db = idle?.file === file && idle !== undefined ? idle.db : openForReading(this.#path);
    try {
      return await db.reading(() => work(new SqliteRows(db)));
    } finally {
      if (this.#idle === undefined) this.#idle = { db, file };
      else db.close();
    }
  }

  /** Opens the archive for deleting, but does not create one. */
  #toDelete(): Database {
    this.#toRead();
    return this.#toChange();
  }

  #toChange(): Database {
    this.#changing ??= openForWriting(this.#path);
    return this.#changing;
  }
}

/** Reads one run. Its values are read later through the same connection. @throws ArchiveError */
export function readArchived(db: Database, runId: string): Promise<ArchivedRun> {
  return db.reading(() => readRun(new SqliteRows(db), runId));
}

const RunRow = z.object({ id: z.int(), run_id: z.string(), source: z.string() });
const CalledRow = z.object({ run: z.int(), name: z.string() });

/** The runs after a position, in the order in which they were archived. Leaves out rows that ptc did not write. */
function listFollowing(db: Database, position: number, limit: number): FollowingRuns {
  const rows = db
    .allParsed(
      RunRow,
      "SELECT id, run_id, source FROM runs WHERE id > ? ORDER BY id LIMIT ?",
      position,
      limit,
    )
    .flatMap((each) => (each.ok ? [each.row] : []));
  const called = db.all(
    CalledRow,
    "SELECT run, name FROM run_tools JOIN tools ON tools.id = run_tools.tool WHERE run IN (SELECT value FROM json_each(?))",
    JSON.stringify(rows.map(({ id }) => id)),
  );
  const tools = new Map<number, string[]>();
  for (const { run, name } of called) tools.set(run, [...(tools.get(run) ?? []), name]);
  return {
    runs: rows.map(({ id, run_id, source }) => ({
      position: id,
      runId: run_id,
      source,
      tools: tools.get(id) ?? [],
    })),
    newest: readChainEnd(db, "head").id,
  };
}

const count = z.int();

const StatusCount = z.object({ status: z.string(), runs: count });

const KEPT = "max(result_bytes - returned_bytes, 0)";
const Undated = z.object({ runs: count });

/**
 * Counts over the runs that started at `sinceMs` or later. Leaves out runs with impossible numbers.
 *
 * @throws ArchiveError
 */
export function readStats(db: Database, { sinceMs = 0 }: { sinceMs?: number } = {}): Stats {
  const statuses = db.all(
    StatusCount,
    `SELECT status, count(*) AS runs FROM runs WHERE started_at >= ? AND ${IS_SOUND_RUN} AND source <> 'replay'
     GROUP BY status ORDER BY runs DESC, status`,
    sinceMs,
  );
  const tools = db.all(
    ToolStats,
    `SELECT name AS tool, server, runs, calls, failed_calls, duration_ms, result_bytes FROM (
       SELECT tool AS id, count(*) AS runs, ${saturatingSum("calls")} AS calls,
         ${saturatingSum("failed_calls")} AS failed_calls, ${saturatingTotal("duration_ms")} AS duration_ms,
         ${saturatingSum("result_bytes")} AS result_bytes
       FROM run_tools WHERE started_at >= ? AND ${ARE_SOUND_CALLS} AND NOT replay GROUP BY tool
     ) JOIN tools USING (id) ORDER BY calls DESC, name`,
    sinceMs,
  );
  const days = db.all(
    DayStats,
    `SELECT date(day * 86400, 'unixepoch') AS day, runs, failed, calls, duration_ms, result_bytes, kept_bytes FROM (
       SELECT started_at / 86400000 AS day, count(*) AS runs, sum(status <> 'ok') AS failed,
         ${saturatingSum("calls")} AS calls, ${saturatingSum("duration_ms")} AS duration_ms,
         ${saturatingSum("result_bytes")} AS result_bytes, ${saturatingSum(KEPT)} AS kept_bytes
       FROM runs WHERE started_at >= ? AND ${IS_SOUND_RUN} AND source <> 'replay' GROUP BY 1
     ) ORDER BY day`,
    sinceMs,
  );
  const undated =
    db.get(Undated, `SELECT count(*) AS runs FROM runs WHERE ${IS_SOUND_RUN} IS NOT TRUE`)?.runs ?? 0;
  const total = totalOf(days);
  return {
    runs: total.runs,
    failures: statuses
      .filter(({ status }) => status !== "ok")
      .map(({ status, runs }) => ({ type: status, runs })),
    tools,
    days,
    total,
    undated,
  };
}

/** How long the runs took that `readStats` counts, by the nearest rank. Reads nothing but an index. */
function readTimings(db: Database, { sinceMs = 0 }: { sinceMs?: number }): Timings {
  const ranked = (by: string) => `SELECT started_at / 86400000 AS day, duration_ms,
       row_number() OVER (${by} ORDER BY duration_ms) AS at, count(*) OVER (${by}) AS runs
     FROM runs WHERE started_at >= ? AND ${IS_SOUND_RUN} AND source <> 'replay'`;
  const quantiles = `coalesce(max(CASE WHEN at = (runs + 1) / 2 THEN duration_ms END), 0) AS p50,
       coalesce(max(CASE WHEN at = (runs * 95 + 99) / 100 THEN duration_ms END), 0) AS p95`;
  const days = db.all(
    DayTiming,
    `SELECT date(day * 86400, 'unixepoch') AS day, ${quantiles}
     FROM (${ranked("PARTITION BY started_at / 86400000")}) GROUP BY day ORDER BY day`,
    sinceMs,
  );
  const total = db.get(Timing, `SELECT ${quantiles} FROM (${ranked("")})`, sinceMs);
  return { total: total ?? { p50: 0, p95: 0 }, days };
}

/** SQL condition that the start in a row of `runs` or `run_tools` is a valid date. */
const HAS_DATE = `started_at BETWEEN 0 AND ${LAST_INSTANT_MS}`;

/** SQL condition that the numbers of a row about some calls are possible: no more bytes than these calls can return. */
const HAS_SOUND_CALLS = `calls BETWEEN 0 AND ${MAX_CALLS} AND failed_calls BETWEEN 0 AND calls AND result_bytes BETWEEN 0 AND calls * ${MAX_COUNT}`;

/** SQL condition that the numbers in a row of `runs` are possible. */
const IS_SOUND_RUN = `(${HAS_DATE} AND ${HAS_SOUND_CALLS} AND duration_ms BETWEEN 0 AND ${LONGEST_MS} AND returned_bytes BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER})`;

/** SQL condition that the numbers in a row of `run_tools` are possible. */
const ARE_SOUND_CALLS = `(${HAS_DATE} AND ${HAS_SOUND_CALLS} AND duration_ms BETWEEN 0 AND calls * ${LONGEST_MS})`;

/** SQL for a sum that is clamped to 0 and the largest safe integer. */
function saturatingTotal(column: string): string {
  return `coalesce(max(0.0, min(total(${column}), ${Number.MAX_SAFE_INTEGER}.0)), 0.0)`;
}

/** Like `saturatingTotal`, as an integer. */
function saturatingSum(column: string): string {
  return `cast(${saturatingTotal(column)} AS INTEGER)`;
}

const Text = z.object({ text: z.string() });
const Total = z.object({ total: z.int() });

/**
 * Finds runs by input digest (`sha256:<hex>`), by run id, or by a prefix of either of at least four characters.
 *
 * @throws ArchiveError `bad-reference` for anything else, without a query; `tampered` when none of the runs found can be
 *   listed.
 */
export function findRuns(db: Database, reference: string): FoundRuns {
  const count = "SELECT count(*) AS total FROM runs WHERE input_digest = ?";
  const countOf = (inputDigest: string) => db.get(Total, count, inputDigest)?.total ?? 0;
  return findMeant(valuesLike(db, reference), (filter) => listRunPage(db, filter), countOf);
}

/**
 * The ids of all runs that a reference means, including damaged runs. An input digest means every run with it. Empty when
 * there are none.
 *
 * @throws ArchiveError `bad-reference`, also for an ambiguous reference.
 */
export function findRunIds(db: Database, reference: string): string[] {
  const { runIds, digests } = valuesLike(db, reference);
  if (runIds.length + digests.length > 1) throw namesSeveral(reference);
  const ofInput = "SELECT run_id AS text FROM runs WHERE input_digest = ?";
  return [...runIds, ...digests.flatMap((digest) => db.all(Text, ofInput, digest).map(({ text }) => text))];
}

function valuesLike(db: Database, reference: string): Meant {
  const { digestPrefix, runIdPrefix } = parseReference(reference);
  return {
    runIds: runIdPrefix === undefined ? [] : valuesFrom(db, "run_id", runIdPrefix),
    digests: digestPrefix === undefined ? [] : valuesFrom(db, "input_digest", digestPrefix),
  };
}

/** Distinct values of a column with a prefix, at most one more than messages show. Each takes one index lookup. */
function valuesFrom(db: Database, column: "run_id" | "input_digest", prefix: string): string[] {
  const exact = `SELECT ${column} AS text FROM runs WHERE ${column} = ? LIMIT 1`;
  if (db.get(Text, exact, prefix) !== undefined) return [prefix];
  const next = `SELECT ${column} AS text FROM runs WHERE ${column} > ? AND ${column} < ? ORDER BY ${column} LIMIT 1`;
  const found: string[] = [];
  while (found.length <= MAX_CANDIDATES) {
    // "~" sorts after every character of ids and digests.
    const value = db.get(Text, next, found.at(-1) ?? prefix, `${prefix}~`)?.text;
    if (value === undefined) break;
    found.push(value);
  }
  return found;
}

const COLUMNS = Object.keys(ListedRun.shape)
  .map((column) => `runs.${column}`)
  .join(", ");

const ToolRow = z.object({ id: z.int(), name: z.string(), server: z.string() });

/**
 * A page of the matching runs, newest first, and those among them that cannot be listed.
 *
 * @throws ArchiveError
 */
export function listRunPage(db: Database, filter: PageFilter): RunPage {
  const conditions: string[] = [];
  const values: SqlValue[] = [];
  const where = (condition: string, ...given: SqlValue[]) => {
    conditions.push(condition);
    values.push(...given);
  };
  if (filter.status === "failed") where("status <> 'ok'");
  else if (filter.status !== undefined) where("status = ?", filter.status);
  if (filter.source !== undefined) where("source = ?", filter.source);
  if (filter.principal !== undefined) where("principal = ?", filter.principal);
  if (filter.text !== undefined)
    where("instr(lower(title || char(10) || file_name), lower(?)) > 0", filter.text);
  if (filter.sinceMs !== undefined) where("started_at >= ?", filter.sinceMs);
  if (filter.untilMs !== undefined) where("started_at < ?", filter.untilMs);
  if (filter.inputDigest !== undefined) where("input_digest = ?", filter.inputDigest);
  if (filter.clientSession !== undefined)
    where("substr(client_session, 1, length(?)) = ?", filter.clientSession, filter.clientSession);
  if (filter.user !== undefined) where("user = ?", filter.user);
  if (filter.host !== undefined) where("host = ?", filter.host);
  if (filter.client !== undefined) where("client = ?", filter.client);
  if (filter.runId !== undefined) where("run_id = ?", filter.runId);
  if (filter.before !== undefined) {
    where("(started_at, id) < (SELECT started_at, id FROM runs WHERE run_id = ?)", filter.before);
  }
  if (filter.tool !== undefined || filter.server !== undefined) {
    const tools = toolsMatching(db, filter);
    if (tools.length === 0) return { runs: [], damaged: [], next: undefined };
    where(
      `EXISTS (SELECT 1 FROM run_tools WHERE run = runs.id AND tool IN (SELECT value FROM json_each(?)))`,
      JSON.stringify(tools),
    );
  }
  const matching = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const rows = db.allParsed(
    ListedRun,
    `SELECT ${COLUMNS} FROM runs ${matching} ORDER BY started_at DESC, id DESC LIMIT ?`,
    ...values,
    filter.limit,
  );
  const last = rows.at(-1);
  const runId = last?.ok ? last.row.run_id : last?.raw.run_id;
  return {
    runs: rows.flatMap((each) => (each.ok ? [each.row] : [])),
    damaged: rows.flatMap((each) => (each.ok ? [] : [damagedRun(each.raw.run_id, each.columns)])),
    next: rows.length < filter.limit || typeof runId !== "string" ? undefined : runId,
  };
}

function toolsMatching(db: Database, { tool, server }: RunFilter): number[] {
  const known = db.all(ToolRow, "SELECT id, name, server FROM tools");
  return known
    .filter((each) => server === undefined || each.server === server)
    .filter((each) => tool === undefined || matchesPattern(tool, each.name))
    .map(({ id }) => id);
}

/**
 * Imports runs in short transactions, because other writers wait for each. Nothing else may write through `db` meanwhile.
 */
class SqliteImport implements ImportRows {
  readonly #db: Database;
  /** Texts to which no run refers yet are held under this name. */
  readonly #holder = `import ${randomUUID()}`;
  readonly #heldAt: number;
  #begun = false;

  constructor(db: Database, { importedAt }: RunOrigin) {
    this.#db = db;
    this.#heldAt = importedAt;
  }

  async recordDigestOf(runId: string): Promise<string | undefined> {
    return recordDigestOf(this.#db, runId);
  }

  async hold(texts: readonly string[]): Promise<Map<string, string>> {
    // Waiting for the disk once, at the end, is enough.
    if (!this.#begun) this.#db.exec("PRAGMA synchronous = NORMAL");
    this.#begun = true;
    const unkept = new Map<string, string>();
    this.#db.transaction(() => {
      for (const json of texts) {
        try {
          holdBlob(this.#db, this.#holder, putBlob(this.#db, json).id, this.#heldAt);
        } catch (error) {
          if (!(error instanceof ArchiveError && error.code === "unkeepable")) throw error;
          unkept.set(textDigest(json), error.message);
        }
      }
    });
    return unkept;
  }

  readText = async (digest: string) => readBlob(this.#db, digest);

  async append(record: RunRecord, summary: RunSummary, origin: RunOrigin): Promise<string | undefined> {
    return this.#db.transaction(() => {
      const there = recordDigestOf(this.#db, record.run_id);
      if (there !== undefined) return there;
      const blobIds = [...digestsIn(record)].map((digest) => blobIdOf(this.#db, digest) ?? 0);
      appendRun(this.#db, record, summary, new Set(blobIds), origin);
      return undefined;
    });
  }

  async end(): Promise<void> {
    if (!this.#begun) return;
    this.#db.exec("PRAGMA synchronous = FULL");
    releaseHeld(this.#db, this.#holder);
  }
}

/** Imports runs into an archive that is open. */
export function importInto(db: Database, origin: RunOrigin): RunImport {
  return new CheckedImport(new SqliteImport(db, origin), origin);
}
