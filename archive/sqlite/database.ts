import type { DatabaseSync, StatementSync } from "node:sqlite";
import type * as z from "zod/mini";
import { ArchiveError } from "../archive-error.ts";
import { archiveErrorFrom } from "./sqlite.ts";

export type SqlValue = null | number | bigint | string | Uint8Array;

/** An unparsed row. Integers that are not safe as a number are of type `bigint`. */
type RawRow = Readonly<Record<string, SqlValue>>;

/** A row parsed by its schema, or an invalid row with the names of its wrong columns. */
export type ParsedRow<T> = { ok: true; row: T } | { ok: false; raw: RawRow; columns: string[] };

/** One connection to an archive. Rows are parsed by schema, and every error is an `ArchiveError` that names the file. */
export class Database {
  readonly path: string;
  readonly #connection: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  #inTransaction = false;

  constructor(path: string, connection: DatabaseSync) {
    this.path = path;
    this.#connection = connection;
  }

  all<T>(row: z.ZodMiniType<T>, sql: string, ...values: SqlValue[]): T[] {
    return this.allParsed(row, sql, ...values).map((parsed) => this.#sound(parsed));
  }

  get<T>(row: z.ZodMiniType<T>, sql: string, ...values: SqlValue[]): T | undefined {
    const found = this.#guard(() => this.#prepare(sql).get(...values));
    return found === undefined ? undefined : this.#sound(parseRow(row, found));
  }

  /** Reads rows and parses each separately, so that a damaged one does not hide the others. */
  allParsed<T>(row: z.ZodMiniType<T>, sql: string, ...values: SqlValue[]): ParsedRow<T>[] {
    return this.#guard(() => this.#prepare(sql).all(...values)).map((each) => parseRow(row, each));
  }

  /** Runs one statement and returns how many rows it changed. */
  run(sql: string, ...values: SqlValue[]): number {
    return Number(this.#guard(() => this.#prepare(sql).run(...values)).changes);
  }

  /** Inserts one row and returns its rowid. */
  insert(sql: string, ...values: SqlValue[]): number {
    return Number(this.#guard(() => this.#prepare(sql).run(...values)).lastInsertRowid);
  }

  /** Runs statements that take no values. */
  exec(sql: string): void {
    this.#guard(() => this.#connection.exec(sql));
  }

  /** Commits all of `work` or nothing. Takes the write lock at the start, so that no other write comes in between. */
  transaction<T>(work: () => T): T {
    return this.#within("BEGIN IMMEDIATE", work);
  }

  /** Does work that reads a single state of the archive, whatever others write meanwhile. */
  snapshot<T>(work: () => T): T {
    return this.#inTransaction ? work() : this.#within("BEGIN", work);
  }

  /** Like `snapshot`, for asynchronous work. Nothing else may use this connection meanwhile. */
  async reading<T>(work: () => Promise<T>): Promise<T> {
    this.exec("BEGIN");
    this.#inTransaction = true;
    try {
      return await work();
    } finally {
      this.#inTransaction = false;
      this.#rollback();
    }
  }

  close(): void {
    this.#statements.clear();
    this.#guard(() => this.#connection.close());
  }

  #within<T>(begin: string, work: () => T): T {
    this.exec(begin);
    this.#inTransaction = true;
    try {
      const result = work();
      this.exec("COMMIT");
      return result;
    } catch (error) {
      this.#rollback();
      throw error;
    } finally {
      this.#inTransaction = false;
    }
  }

  /** Rolls a transaction back, unless SQLite has already done so. */
  #rollback(): void {
    try {
      this.#connection.exec("ROLLBACK");
    } catch {
      // Some errors, such as a full disk, end a transaction by themselves.
    }
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#connection.prepare(sql);
      // Otherwise one unsafe integer would make the whole query fail.
      statement.setReadBigInts(true);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw archiveErrorFrom(error, this.path);
    }
  }

  #sound<T>(parsed: ParsedRow<T>): T {
    if (parsed.ok) return parsed.row;
    const columns = parsed.columns.join(", ");
    const message = `the archive ${this.path} holds a row that ptc did not write (${columns}): it is damaged`;
    throw new ArchiveError("corrupt", message);
  }
}

function parseRow<T>(schema: z.ZodMiniType<T>, found: Record<string, SqlValue>): ParsedRow<T> {
  const raw = Object.fromEntries(
    Object.entries(found).map(([column, value]) => [column, withoutBigInt(value)]),
  );
  const parsed = schema.safeParse(raw);
  if (parsed.success) return { ok: true, row: parsed.data };
  return { ok: false, raw, columns: [...new Set(parsed.error.issues.map(({ path }) => path.join(".")))] };
}

function withoutBigInt(value: SqlValue): SqlValue {
  if (typeof value !== "bigint") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
