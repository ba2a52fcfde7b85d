/**
 * Connections to PostgreSQL. Rows are parsed by schema, bytes are sent in binary form, and statements are prepared once for each
 * connection. Every error is an `ArchiveError` that names the place and never the password. The driver is loaded with the first
 * pool. A process has one pool for each database, and idle connections do not keep the process running.
 */
import { hash } from "node:crypto";
import type { Pool, PoolClient, QueryConfig } from "pg";
import * as z from "zod/mini";
import { messageOf } from "../../base/faults.ts";
import { ArchiveError, type ArchiveErrorCode } from "../archive-error.ts";

/** The most connections of one process. Each statement uses one while it runs. */
const MAX_CONNECTIONS = 8;
const CONNECT_MS = 10_000;
const IDLE_MS = 10_000;
/** After this time the server ends a transaction whose process has stopped or is unreachable, so that others need not wait. */
const IDLE_IN_TRANSACTION_MS = 30_000;
const KEEP_ALIVE_MS = 10_000;
/**
 * How long a statement that somebody waits for may take before its connection counts as lost, because nothing else says so when a
 * machine or a network falls silent. It is longer than others may wait for a process that has stopped within a transaction.
 */
const STATEMENT_MS = 60_000;

export type PgValue = null | number | string | boolean | Uint8Array | readonly (number | string)[];

/** An unparsed row. */
type RawRow = Readonly<Record<string, unknown>>;

/** A row parsed by its schema, or an invalid row with the names of its wrong columns. */
export type ParsedRow<T> = { ok: true; row: T } | { ok: false; raw: RawRow; columns: string[] };

/** Sends statements, all on one connection or each on any connection of a pool. */
export class Statements {
  readonly place: string;
  readonly #send: (config: QueryConfig) => Promise<{ rows: unknown[]; rowCount: number | null }>;

  constructor(place: string, send: Statements["send"]) {
    this.place = place;
    this.#send = send;
  }

  /** Sends one statement. */
  get send(): (config: QueryConfig) => Promise<{ rows: unknown[]; rowCount: number | null }> {
    return this.#send;
  }

  async all<T>(row: z.ZodMiniType<T>, sql: string, ...values: PgValue[]): Promise<T[]> {
    return (await this.allParsed(row, sql, ...values)).map((parsed) => this.#sound(parsed));
  }

  async get<T>(row: z.ZodMiniType<T>, sql: string, ...values: PgValue[]): Promise<T | undefined> {
    return (await this.all(row, sql, ...values))[0];
  }

  /** Reads rows and parses each separately, so that a damaged one does not hide the others. */
  async allParsed<T>(row: z.ZodMiniType<T>, sql: string, ...values: PgValue[]): Promise<ParsedRow<T>[]> {
    const { rows } = await this.#send(prepared(sql, values));
    return rows.map((each) => parseRow(row, each as RawRow));
  }

  /** Runs one statement and returns how many rows it changed. */
  async run(sql: string, ...values: PgValue[]): Promise<number> {
    return (await this.#send(prepared(sql, values))).rowCount ?? 0;
  }

  /** Runs statements without values. */
  async exec(sql: string): Promise<void> {
    await this.#send({ text: sql });
  }

  #sound<T>(parsed: ParsedRow<T>): T {
    if (parsed.ok) return parsed.row;
    const columns = parsed.columns.join(", ");
    const message = `${this.place} holds a row that ptc did not write (${columns}): it is damaged`;
    throw new ArchiveError("corrupt", message);
  }
}

/** A database, for single statements and for transactions. */
export class PgDatabase extends Statements {
  readonly #pool: Pool;
  readonly #bound: { query_timeout?: number };

  /** @param bound of each statement. Without one, a statement may take as long as it likes. */
  constructor(place: string, pool: Pool, bound: { query_timeout?: number } = {}) {
    super(place, async (config) => {
      const client = await connectFrom(pool, place);
      return releasing(client, place, () => client.query({ ...config, ...bound }));
    });
    this.#pool = pool;
    this.#bound = bound;
  }

  /** The same database for short statements. The connection of one that takes longer counts as lost, and is closed. */
  within(statementMs = STATEMENT_MS): PgDatabase {
    return new PgDatabase(this.place, this.#pool, { query_timeout: statementMs });
  }

  /**
   * Commits all of `work` or nothing.
   *
   * @param begin how the transaction begins, such as `BEGIN ISOLATION LEVEL REPEATABLE READ`.
   */
  async transaction<T>(work: (tx: Statements) => Promise<T>, begin = "BEGIN"): Promise<T> {
    const client = await connectFrom(this.#pool, this.place);
    return releasing(client, this.place, async () => {
      const tx = this.#on(client);
      await tx.exec(begin);
      try {
        const result = await work(tx);
        await tx.exec("COMMIT");
        return result;
      } catch (error) {
        await tx.exec("ROLLBACK");
        throw error;
      }
    });
  }

  /** Does work on one connection, whose statements are sent in order without waiting for answers. */
  async inARow<T>(work: (connection: Statements) => Promise<T>): Promise<T> {
    const client = await connectFrom(this.#pool, this.place);
    return releasing(client, this.place, () => work(this.#on(client)));
  }

  #on(client: PoolClient): Statements {
    const send = (config: QueryConfig) => client.query({ ...config, ...this.#bound });
    return new Statements(this.place, (config) => guard(this.place, () => send(config)));
  }

  /** Does work that reads a single state of the database, whatever others write meanwhile. */
  snapshot<T>(work: (tx: Statements) => Promise<T>): Promise<T> {
    return this.transaction(work, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY");
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await this.#pool.end();
  }
}

/**
 * Loads the driver and makes a pool, which connects with its first statement.
 *
 * @throws ArchiveError `unwritable` for text that is not a URL of PostgreSQL.
 */
export async function openPool(url: string, { max = MAX_CONNECTIONS } = {}): Promise<PgDatabase> {
  const place = placeOf(url);
  const { default: pg } = await import("pg");
  const pool = new pg.Pool({
    connectionString: url,
    max,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    allowExitOnIdle: true,
    keepAlive: true,
    pipeline: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: "ptc",
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    types: { getTypeParser: parserOf as never },
  });
  // The failing statement of a connection's current or next user reports the error.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return new PgDatabase(place, pool);
}

/** Names a database for messages, without user and password. */
function placeOf(url: string): string {
  // A URL that names the folder of a socket in its query has no host.
  const readable = url.replace(/^(postgres(?:ql)?:\/\/(?:[^/?#@]*@)?)(?=[/?#]|$)/i, "$1local");
  const parsed = URL.canParse(readable) ? new URL(readable) : undefined;
  if (parsed === undefined) throw new ArchiveError("unwritable", "storage.url is not a URL of PostgreSQL");
  const host = parsed.searchParams.get("host") ?? parsed.hostname;
  const database = parsed.pathname.slice(1) || decodeURIComponent(parsed.username);
  const port = parsed.port === "" ? "" : `:${parsed.port}`;
  return `PostgreSQL (${decodeURIComponent(database)} at ${host}${port})`;
}

async function connectFrom(pool: Pool, place: string): Promise<PoolClient> {
  return guard(place, () => pool.connect());
}

/** Returns a connection to the pool after some work, or closes it if it may be broken. */
async function releasing<T>(client: PoolClient, place: string, work: () => Promise<T>): Promise<T> {
  try {
    const result = await guard(place, work);
    client.release();
    return result;
  } catch (error) {
    client.release(!(error instanceof ArchiveError) || MAY_BE_BROKEN.has(error.code));
    throw error;
  }
}

const MAY_BE_BROKEN: ReadonlySet<ArchiveErrorCode> = new Set(["unreachable", "failed", "busy"]);

async function guard<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw archiveErrorFrom(error, place);
  }
}

const names = new Map<string, string>();

/** A statement that a connection prepares when it first runs it. */
function prepared(sql: string, values: readonly PgValue[]): QueryConfig {
  let name = names.get(sql);
  if (name === undefined) {
    name = `ptc_${hash("sha1", sql).slice(0, 16)}`;
    names.set(sql, name);
  }
  return { name, text: sql, values: values as unknown[] };
}

function parseRow<T>(schema: z.ZodMiniType<T>, raw: RawRow): ParsedRow<T> {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return { ok: true, row: parsed.data };
  return { ok: false, raw, columns: [...new Set(parsed.error.issues.map(({ path }) => path.join(".")))] };
}

/** Parsers of the columns that ptc reads, by the type's number in `pg_type`. All other columns are read as text. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t",
  17: (text) => Buffer.from(text.slice(2), "hex"),
  // Numbers that are not safe stay of type `bigint`.
  20: (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text)),
  21: Number,
  23: Number,
  701: Number,
};

function parserOf(oid: number): (text: string) => unknown {
  return PARSERS[oid] ?? String;
}

/** Codes and classes of SQLSTATE that a user can act on (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
const CAUSES: readonly (readonly [RegExp, ArchiveErrorCode, string])[] = [
  [/^53100$/, "full", "cannot grow, its disk is full: enlarge it, or free some space"],
  [/^(?:53300|53400)$/, "busy", "has too many connections: raise max_connections, or try again"],
  [/^53/, "busy", "has too little memory: try again"],
  [/^28/, "unwritable", "refuses the login: check the user and the password of storage.url"],
  [/^3D000$/, "unwritable", "is not there: create the database"],
  [/^3F000$/, "unwritable", "has no schema to make tables in: create it, or check search_path"],
  [/^42501$/, "unwritable", "may not be changed by this user: grant it the schema"],
  [/^25006$/, "unwritable", "is read-only, such as a standby: name the primary in storage.url"],
  [/^(?:08|57P0[1-4])/, "unreachable", "cannot be reached"],
  [/^(?:40001|40P01|55P03|57014)$/, "busy", "is in use by others for too long: try again"],
  [/^XX00[12]$/, "corrupt", "is damaged: restore it from a backup"],
  [/^(?:54|22003)/, "unkeepable", "cannot hold such a value"],
];

const NETWORK = /^E(?:CONN|PIPE|HOST|NET|TIMEDOUT|NOTFOUND|AI_AGAIN|NOENT|ACCES)/;
const LOST =
  /connection terminated|timeout exceeded|query read timeout|client has encountered a connection error|not queryable|ended by the server|Client was closed/i;

/** Turns an error of the driver into one line about the place. An `ArchiveError` is returned unchanged. */
function archiveErrorFrom(error: unknown, place: string): ArchiveError {
  if (error instanceof ArchiveError) return error;
  const { code } = error as { code?: unknown };
  const said = messageOf(error).replaceAll(/\s+/g, " ").trim();
  const why = said === "" && typeof code === "string" ? code : said;
  const state = typeof code === "string" ? code : "";
  if (NETWORK.test(state) || LOST.test(why))
    return new ArchiveError("unreachable", `${place} cannot be reached (${why})`, error);
  const [, kind, what] = CAUSES.find(([pattern]) => pattern.test(state)) ?? [
    /$/,
    "failed" as const,
    "failed",
  ];
  return new ArchiveError(kind, `${place} ${what} (${why})`, error);
}

/** The SQLSTATE of the error that caused an `ArchiveError`. */
export function sqlStateOf(error: unknown): string | undefined {
  const { code } = ((error as Error | undefined)?.cause ?? {}) as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}

/** Whether the same work may succeed a moment later, because the server was unreachable or busy. */
function isPassing(error: unknown): error is ArchiveError {
  return error instanceof ArchiveError && (error.code === "unreachable" || error.code === "busy");
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Repeats some work while it fails for a temporary reason, such as a restart of the server, and at least once: a first try may
 * spend all patience on a connection that has fallen silent. The work itself must find out what an earlier try has done, because a connection that is lost during a commit does not show whether the commit succeeded.
 */
export async function patiently<T>(work: (tries: number) => Promise<T>, patienceMs: number): Promise<T> {
  const giveUpAt = performance.now() + patienceMs;
  for (
    let tries = 0, pauseMs = FIRST_PAUSE_MS;
    ;
    tries++, pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
  ) {
    try {
      return await work(tries);
    } catch (error) {
      if (!isPassing(error) || (tries > 0 && performance.now() + pauseMs > giveUpAt)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/**
 * Encodes a text for PostgreSQL, which cannot hold NUL. The escape character is of private use and belongs to no script.
 */
export function toStored(text: string): string {
  return text.replaceAll(/[\0\ue000]/g, (found) => (found === "\0" ? "\ue0000" : "\ue000E"));
}

/** Reverses `toStored`. */
export function fromStored(text: string): string {
  return text.replaceAll(/\ue000([0E])/g, (_, which) => (which === "0" ? "\0" : "\ue000"));
}

/** A text column whose values are in the form of `toStored`. */
export const StoredText = z.pipe(z.string(), z.transform(fromStored));
