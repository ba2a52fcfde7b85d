import type { DatabaseSync, StatementSync } from "node:sqlite";
import type * as z from "zod/mini";
import { ArchiveError } from "./archive-error.ts";
import { archiveErrorFrom } from "./sqlite.ts";

export type SqlValue = null | number | string | Uint8Array;

/** One connection to an archive. Rows are parsed by schema, and every fault is an `ArchiveError` that names the file. */
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
    const rows = this.#guard(() => this.#prepare(sql).all(...values));
    return rows.map((each) => this.#parse(row, each));
  }

  get<T>(row: z.ZodMiniType<T>, sql: string, ...values: SqlValue[]): T | undefined {
    const found = this.#guard(() => this.#prepare(sql).get(...values));
    return found === undefined ? undefined : this.#parse(row, found);
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

  /** All of `work` or nothing. Takes the write lock at the start, so that nobody else's write comes in between. */
  transaction<T>(work: () => T): T {
    return this.#within("BEGIN IMMEDIATE", work);
  }

  /** What `work` reads is one state of the archive, whatever others write meanwhile. */
  snapshot<T>(work: () => T): T {
    return this.#inTransaction ? work() : this.#within("BEGIN", work);
  }

  /** A transaction for work that waits for other things. Nothing else may use this connection meanwhile. */
  async longTransaction<T>(work: () => Promise<T>): Promise<T> {
    this.exec("BEGIN IMMEDIATE");
    this.#inTransaction = true;
    try {
      const result = await work();
      this.exec("COMMIT");
      return result;
    } catch (error) {
      this.#rollback();
      throw error;
    } finally {
      this.#inTransaction = false;
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

  /** Takes back a transaction, unless SQLite has already done so. */
  #rollback(): void {
    try {
      this.#connection.exec("ROLLBACK");
    } catch {
      // Some faults, a full disk among them, end a transaction on their own.
    }
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#connection.prepare(sql);
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

  #parse<T>(row: z.ZodMiniType<T>, value: unknown): T {
    const parsed = row.safeParse(value);
    if (parsed.success) return parsed.data;
    const columns = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
    const message = `the archive ${this.path} holds a row that ptc did not write (${columns}): it is damaged`;
    throw new ArchiveError("corrupt", message, parsed.error);
  }
}
