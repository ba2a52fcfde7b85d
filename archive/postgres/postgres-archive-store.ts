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
import { ListedRun, type PageFilter, type RunFilter, type RunPage } from "../listed-run.ts";
import { CheckedImport, type ImportRows } from "../run-import.ts";
import type { RunRecord } from "../run-record.ts";
import {
  type FoundRuns,
  filterFor,
  foundAmong,
  MAX_CANDIDATES,
  type Meant,
  namesSeveral,
  parseReference,
} from "../run-reference.ts";
import { DayStats, DayTiming, type Stats, Timing, type Timings, ToolStats, totalOf } from "../run-stats.ts";
import type { RunSummary } from "../run-summary.ts";
import { damagedRun, readRun, verifyArchive } from "../verification.ts";
import { ArchiveWriter } from "../writer/archive-writer.ts";
import { appendRuns, holdValues, prepareRun, putText, type Values } from "./append.ts";
import { readChainEnd } from "./chain-ends.ts";
import {
  fromStored,
  type PgDatabase,
  type PgValue,
  type Statements,
  StoredText,
  toStored,
} from "./database.ts";
import { deleteRunsById, pruneRuns, releaseHeld } from "./prune.ts";
import {
  FLUSH,
  IS_SOUND_RUN,
  makeMonth,
  monthOf,
  RUN_DAY_CONDITION,
  RUN_DAY_SUMS,
  TOOL_DAY_CONDITION,
  TOOL_DAY_SUMS,
} from "./schema.ts";
import { PostgresRows, readBlob } from "./stored-rows.ts";
import type { PostgresWriterOptions } from "./writer/run-writer.ts";

const DAY_MS = 86_400_000;

/** Keeps runs in PostgreSQL, for several processes on any machines. A separate thread archives runs. */
export class PostgresArchiveStore implements ArchiveStore {
  readonly #db: PgDatabase;
  readonly #writer: ArchiveWriter;
  #hasRuns = false;

  /**
   * @param db a migrated database, which its opener closes.
   * @param workerModule the `postgres-worker` module.
   */
  constructor(db: PgDatabase, options: PostgresWriterOptions, workerModule: URL) {
    this.#db = db;
    this.#writer = new ArchiveWriter(options, workerModule);
  }

  begin(runId: string): PendingRun {
    return this.#writer.begin(runId);
  }

  async exists(): Promise<boolean> {
    this.#hasRuns ||= (await readChainEnd(this.#db.within(), "head")).id > 0;
    return this.#hasRuns;
  }

  async tryWriting(): Promise<void> {
    await this.#db.within().transaction(async (tx) => {
      await tx.run("UPDATE chain_ends SET link = link WHERE name = 'head'");
    });
  }

  async list(filter: PageFilter): Promise<RunPage> {
    return listRunPage(await this.#reading("soon"), filter);
  }

  async following(position: number, limit: number): Promise<FollowingRuns> {
    return listFollowing(await this.#reading("soon"), position, limit);
  }

  async find(reference: string): Promise<FoundRuns> {
    return findRuns(await this.#reading("soon"), reference);
  }

  async findIds(reference: string): Promise<string[]> {
    const db = await this.#reading("soon");
    const { runIds, digests } = await valuesLike(db, reference);
    if (runIds.length + digests.length > 1) throw namesSeveral(reference);
    const ofInput = await db.all(
      Text,
      "SELECT run_id AS text FROM runs WHERE input_digest = ANY($1)",
      digests,
    );
    return [...runIds, ...ofInput.map(({ text }) => text)];
  }

  async read(runId: string): Promise<ArchivedRun> {
    const db = await this.#reading("soon");
    return db.snapshot((tx) => readRun(new PostgresRows(tx), runId, (digest) => readBlob(db, digest)));
  }

  async stats(filter: { sinceMs?: number }): Promise<Stats> {
    return readStats(await this.#reading(), filter);
  }

  async timings(filter: { sinceMs?: number }): Promise<Timings> {
    return readTimings(await this.#reading(), filter);
  }

  async verify(heads: readonly KeptHead[] = []): Promise<Verification> {
    const db = await this.#reading();
    return db.snapshot((tx) => verifyArchive(new PostgresRows(tx), heads));
  }

  async head(): Promise<string> {
    const { id, link } = await readChainEnd(await this.#reading(), "head");
    return `${id}:${link}`;
  }

  async prune(options: PruneOptions): Promise<Pruned> {
    return pruneRuns(await this.#reading(), options);
  }

  async delete(runIds: readonly string[], nowMs: number): Promise<Pruned> {
    return deleteRunsById(await this.#reading(), runIds, nowMs);
  }

  async beginImport(origin: RunOrigin): Promise<RunImport> {
    await makeMonth(this.#db, monthOf(origin.importedAt));
    return new CheckedImport(new PostgresImport(this.#db, origin), origin);
  }

  async close(): Promise<void> {
    await this.#writer.close();
  }

  /** @param how whether statements are short, so that one that takes long has lost its connection. */
  async #reading(how: "soon" | "at length" = "at length"): Promise<PgDatabase> {
    if (await this.exists()) return how === "soon" ? this.#db.within() : this.#db;
    const message = `nothing is archived in ${this.#db.place} yet: the first run begins the archive`;
    throw new ArchiveError("missing", message);
  }
}

const RunRow = z.object({ id: z.int(), run_id: z.string(), source: z.string() });
const CalledRow = z.object({ run: z.int(), name: StoredText });

/** The runs after a position, in the order in which they were archived. Leaves out rows that ptc did not write. */
async function listFollowing(db: Statements, position: number, limit: number): Promise<FollowingRuns> {
  const select = "SELECT id, run_id, source FROM runs WHERE id > $1 ORDER BY id LIMIT $2";
  const rows = (await db.allParsed(RunRow, select, position, limit)).flatMap((each) =>
    each.ok ? [each.row] : [],
  );
  const called = await db.all(
    CalledRow,
    "SELECT run, name FROM run_tools JOIN tools ON tools.id = run_tools.tool WHERE run = ANY($1)",
    rows.map(({ id }) => id),
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
    newest: (await readChainEnd(db, "head")).id,
  };
}

const StoredDay = z.extend(z.omit(DayStats, { failed: true }), { status: z.string() });
type StoredDay = z.infer<typeof StoredDay>;
const Undated = z.object({ runs: z.int() });
const StoredToolStats = z.extend(ToolStats, { tool: StoredText, server: StoredText });

/** SQL of a sum that is clamped to 0 and the largest safe integer. */
function saturating(sum: string): string {
  return `least(greatest(coalesce(sum(${sum}), 0), 0), ${Number.MAX_SAFE_INTEGER})`;
}

/**
 * Counts over the runs that started at `sinceMs` or later. Uses the sums of whole days, and reads runs only for a first day that
 * counts in part. Leaves out runs with impossible numbers.
 *
 * @throws ArchiveError
 */
export async function readStats(db: Statements, { sinceMs = 0 }: { sinceMs?: number } = {}): Promise<Stats> {
  const from = wholeMs(sinceMs);
  const wholeFrom = Math.ceil(from / DAY_MS);
  const within = `started_at >= $1 AND started_at < $2::bigint * ${DAY_MS}`;
  const run = `(SELECT day, status, runs, calls, duration_ms, result_bytes, kept_bytes FROM run_days WHERE day >= $2
    UNION ALL SELECT ${RUN_DAY_SUMS} FROM runs WHERE ${within} AND ${RUN_DAY_CONDITION} GROUP BY 1, 2) AS counted`;
  const tool = `(SELECT day, tool, runs, calls, failed_calls, duration_ms, result_bytes FROM tool_days WHERE day >= $2
    UNION ALL SELECT ${TOOL_DAY_SUMS} FROM run_tools WHERE ${within} AND ${TOOL_DAY_CONDITION} GROUP BY 1, 2) AS counted`;
  const [dayRows, tools, undated] = await Promise.all([
    db.all(
      StoredDay,
      `SELECT to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, status, sum(runs)::bigint AS runs,
         ${saturating("calls")}::bigint AS calls, ${saturating("duration_ms")}::bigint AS duration_ms,
         ${saturating("result_bytes")}::bigint AS result_bytes, ${saturating("kept_bytes")}::bigint AS kept_bytes
       FROM ${run} GROUP BY counted.day, status ORDER BY counted.day`,
      ...[from, wholeFrom],
    ),
    db.all(
      StoredToolStats,
      `SELECT name AS tool, server, sums.runs, sums.calls, failed_calls, duration_ms, result_bytes FROM (
         SELECT tool AS id, sum(runs)::bigint AS runs, ${saturating("calls")}::bigint AS calls,
           ${saturating("failed_calls")}::bigint AS failed_calls, ${saturating("duration_ms")}::float8 AS duration_ms,
           ${saturating("result_bytes")}::bigint AS result_bytes
         FROM ${tool} GROUP BY tool
       ) AS sums JOIN tools USING (id) ORDER BY sums.calls DESC, name`,
      ...[from, wholeFrom],
    ),
    db.get(Undated, `SELECT count(*) AS runs FROM runs WHERE ${IS_SOUND_RUN} IS NOT TRUE`),
  ]);
  const days = sumOfDays(dayRows);
  const total = totalOf(days);
  return {
    runs: total.runs,
    failures: failuresIn(dayRows),
    tools,
    days,
    total,
    undated: undated?.runs ?? 0,
  };
}

/** How long the runs took that `readStats` counts, by the nearest rank. Reads nothing but an index. */
async function readTimings(db: Statements, { sinceMs = 0 }: { sinceMs?: number }): Promise<Timings> {
  const quantile = (share: number) =>
    `coalesce(percentile_disc(${share}) WITHIN GROUP (ORDER BY duration_ms), 0)::bigint`;
  const counted = `${quantile(0.5)} AS p50, ${quantile(0.95)} AS p95
    FROM runs WHERE started_at >= $1 AND ${RUN_DAY_CONDITION}`;
  const day = `to_char(to_timestamp(started_at / 86400000 * 86400) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;
  const from = wholeMs(sinceMs);
  const [days, total] = await Promise.all([
    db.all(DayTiming, `SELECT ${day} AS day, ${counted} GROUP BY 1 ORDER BY 1`, from),
    db.get(Timing, `SELECT ${counted}`, from),
  ]);
  return { total: total ?? { p50: 0, p95: 0 }, days };
}

/** Merges the rows of each day. */
function sumOfDays(rows: readonly StoredDay[]): DayStats[] {
  const days = new Map<string, DayStats>();
  for (const { status, ...row } of rows) {
    const failed = status === "ok" ? 0 : row.runs;
    const known = days.get(row.day);
    const sum = known === undefined ? { ...row, failed } : totalOf([known, { ...row, failed }]);
    days.set(row.day, { ...sum, day: row.day });
  }
  return [...days.values()];
}

/** How many runs failed, by type, most frequent first. */
function failuresIn(rows: readonly StoredDay[]): Stats["failures"] {
  const counts = new Map<string, number>();
  for (const { status, runs } of rows)
    if (status !== "ok") counts.set(status, (counts.get(status) ?? 0) + runs);
  return [...counts]
    .map(([type, runs]) => ({ type, runs }))
    .sort((a, b) => b.runs - a.runs || (a.type < b.type ? -1 : 1));
}

const Text = z.object({ text: z.string() });
const Total = z.object({ total: z.int() });

/**
 * Finds runs by input digest (`sha256:<hex>`), by run id, or by a prefix of either of at least four characters.
 *
 * @throws ArchiveError `bad-reference` for anything else, without a query; `tampered` when none of the runs found can be
 *   listed.
 */
export async function findRuns(db: Statements, reference: string): Promise<FoundRuns> {
  const asked = filterFor(await valuesLike(db, reference));
  if ("kind" in asked) return asked;
  const page = await listRunPage(db, asked);
  const count = "SELECT count(*) AS total FROM runs WHERE input_digest = $1";
  const { total = 0 } =
    asked.inputDigest === undefined ? {} : ((await db.get(Total, count, asked.inputDigest)) ?? {});
  return foundAmong(page, asked.inputDigest, () => total);
}

async function valuesLike(db: Statements, reference: string): Promise<Meant> {
  const { digestPrefix, runIdPrefix } = parseReference(reference);
  const [runIds, digests] = await Promise.all([
    runIdPrefix === undefined ? [] : valuesFrom(db, "run_id", runIdPrefix),
    digestPrefix === undefined ? [] : valuesFrom(db, "input_digest", digestPrefix),
  ]);
  return { runIds, digests };
}

/** Distinct values of a column with a prefix, at most one more than messages show. Each takes one index lookup. */
async function valuesFrom(
  db: Statements,
  column: "run_id" | "input_digest",
  prefix: string,
): Promise<string[]> {
  const exact = `SELECT ${column} AS text FROM runs WHERE ${column} = $1 LIMIT 1`;
  if ((await db.get(Text, exact, prefix)) !== undefined) return [prefix];
  const next = `SELECT ${column} AS text FROM runs WHERE ${column} > $1 AND ${column} < $2 ORDER BY ${column} LIMIT 1`;
  const found: string[] = [];
  while (found.length <= MAX_CANDIDATES) {
    // "~" sorts after every character of ids and digests.
    const value = (await db.get(Text, next, found.at(-1) ?? prefix, `${prefix}~`))?.text;
    if (value === undefined) break;
    found.push(value);
  }
  return found;
}

const COLUMNS = Object.keys(ListedRun.shape)
  .map((column) => `runs."${column}"`)
  .join(", ");

const ToolRow = z.object({ id: z.int(), name: StoredText, server: StoredText });

/** Up to this many runs of some tools, a query looks at all of them to find those that match. */
const FEW_RUNS = 5_000;

/**
 * The statement for a page of the matching runs, and its values. The sums of days say how many runs called a tool. That number
 * decides how to find the runs of the page: by the tool, or among all runs from the newest on.
 */
async function listStatement(
  db: Statements,
  filter: PageFilter,
): Promise<{ sql: string; values: PgValue[] } | undefined> {
  const values: PgValue[] = [];
  const value = (given: PgValue) => `$${values.push(typeof given === "string" ? toStored(given) : given)}`;
  const conditions: string[] = [];
  const equal = (column: string, given: string | undefined) => {
    if (given !== undefined) conditions.push(`${column} = ${value(given)}`);
  };
  if (filter.status === "failed") conditions.push("status <> 'ok'");
  else equal("status", filter.status);
  equal("source", filter.source);
  if (filter.principal !== undefined) {
    const principal = `${value(filter.principal)}::text`;
    // Named by its digest too, as the index has it.
    conditions.push(`md5(principal) = md5(${principal}) AND principal = ${principal}`);
  }
  if (filter.text !== undefined)
    conditions.push(`position(lower(${value(filter.text)}) IN lower(title || chr(10) || file_name)) > 0`);
  equal("input_digest", filter.inputDigest);
  if (filter.clientSession !== undefined) {
    const beginning = value(filter.clientSession);
    conditions.push(`client_session >= ${beginning} AND starts_with(client_session, ${beginning})`);
  }
  equal('"user"', filter.user);
  equal("host", filter.host);
  equal("client", filter.client);
  equal("run_id", filter.runId);
  const isByToolOnly = conditions.length === 0;
  const from = filter.sinceMs === undefined ? "" : ` AND started_at >= ${value(wholeMs(filter.sinceMs))}`;
  const until = filter.untilMs === undefined ? "" : ` AND started_at < ${value(wholeMs(filter.untilMs))}`;
  const cursor =
    filter.before === undefined
      ? undefined
      : `(SELECT started_at, id FROM runs WHERE run_id = ${value(filter.before)})`;
  const limit = value(filter.limit);
  if (filter.tool !== undefined || filter.server !== undefined) {
    const tools = await toolsMatching(db, filter);
    if (tools.length === 0) return undefined;
    const ids = value(tools);
    if (isByToolOnly) {
      const after = cursor === undefined ? "" : ` AND (started_at, run) < ${cursor}`;
      conditions.push(
        `(started_at, id) IN (SELECT started_at, run FROM unnest(${ids}::integer[]) AS wanted(id), LATERAL (
           SELECT started_at, run FROM run_tools WHERE tool = wanted.id${from}${until}${after}
           ORDER BY started_at DESC, run DESC LIMIT ${limit}
         ) AS called GROUP BY started_at, run ORDER BY started_at DESC, run DESC LIMIT ${limit})`,
      );
    } else if ((await runsOfTools(db, tools)) <= FEW_RUNS)
      conditions.push(`id IN (SELECT run FROM run_tools WHERE tool = ANY(${ids}))`);
    else
      conditions.push(
        `EXISTS (SELECT FROM run_tools WHERE run_tools.run = runs.id AND run_tools.month = runs.month
           AND run_tools.tool = ANY(${ids}) OFFSET 0)`,
      );
  }
  if (cursor !== undefined) conditions.push(`(started_at, id) < ${cursor}`);
  const matching = `WHERE true${conditions.map((each) => ` AND ${each}`).join("")}${from}${until}`;
  return {
    sql: `SELECT ${COLUMNS} FROM runs ${matching} ORDER BY started_at DESC, id DESC LIMIT ${limit}`,
    values,
  };
}

/** A bound of a filter in whole milliseconds, because the index of an integer column needs integers. */
function wholeMs(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), Number.MAX_SAFE_INTEGER);
}

/** How many runs have called some tools, without replays. */
async function runsOfTools(db: Statements, tools: readonly number[]): Promise<number> {
  const sum = "SELECT coalesce(sum(runs), 0)::bigint AS total FROM tool_days WHERE tool = ANY($1)";
  return (await db.get(Total, sum, tools))?.total ?? 0;
}

/**
 * A page of the matching runs, newest first, and those among them that cannot be listed.
 *
 * @throws ArchiveError
 */
export async function listRunPage(db: Statements, filter: PageFilter): Promise<RunPage> {
  const statement = await listStatement(db, filter);
  if (statement === undefined) return { runs: [], damaged: [], next: undefined };
  const rows = await db.allParsed(StoredListedRun, statement.sql, ...statement.values);
  const last = rows.at(-1);
  const runId = last?.ok ? last.row.run_id : last?.raw.run_id;
  return {
    runs: rows.flatMap((each) => (each.ok ? [each.row] : [])),
    damaged: rows.flatMap((each) => (each.ok ? [] : [damagedRun(each.raw.run_id, each.columns)])),
    next: rows.length < filter.limit || typeof runId !== "string" ? undefined : runId,
  };
}

/** A listed row whose texts are decoded before they are checked, because any column of a damaged row may have any value. */
const StoredListedRun = z.pipe(
  z.pipe(
    z.looseObject({}),
    z.transform((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name,
          typeof value === "string" ? fromStored(value) : value,
        ]),
      ),
    ),
  ),
  ListedRun,
) as z.ZodMiniType<ListedRun>;

async function toolsMatching(db: Statements, { tool, server }: RunFilter): Promise<number[]> {
  const known = await db.all(ToolRow, "SELECT id, name, server FROM tools");
  return known
    .filter((each) => server === undefined || each.server === server)
    .filter((each) => tool === undefined || matchesPattern(tool, each.name))
    .map(({ id }) => id);
}

/** Imports runs in short transactions, because other writers wait for each. */
class PostgresImport implements ImportRows {
  readonly #db: PgDatabase;
  readonly #origin: RunOrigin;
  /** Texts to which no run refers yet are held under this name. */
  readonly #holder = `import ${randomUUID()}`;

  constructor(db: PgDatabase, origin: RunOrigin) {
    this.#db = db;
    this.#origin = origin;
  }

  async recordDigestOf(runId: string): Promise<string | undefined> {
    return (await this.#db.get(Text, "SELECT record_digest AS text FROM runs WHERE run_id = $1", runId))
      ?.text;
  }

  async hold(texts: readonly string[]): Promise<Map<string, string>> {
    const unkept = new Map<string, string>();
    const values: Values = new Map();
    for (const json of texts) {
      try {
        putText(values, json);
      } catch (error) {
        if (!(error instanceof ArchiveError && error.code === "unkeepable")) throw error;
        unkept.set(textDigest(json), error.message);
      }
    }
    const nowMs = this.#origin.importedAt;
    await holdValues(this.#db, values, { holder: this.#holder, month: monthOf(nowMs), nowMs });
    return unkept;
  }

  readText = (digest: string) => readBlob(this.#db, digest);

  async append(record: RunRecord, summary: RunSummary, origin: RunOrigin): Promise<string | undefined> {
    const prepared = prepareRun(record, summary, new Map(), origin);
    const [appended] = await appendRuns(this.#db, [prepared]);
    return appended?.was_there === true ? appended.found_digest : undefined;
  }

  async end(): Promise<void> {
    await releaseHeld(this.#db, this.#holder);
    await this.#db.exec(FLUSH);
  }
}
