import { existsSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod/mini";
import { ArchiveError } from "../archive-error.ts";
import type { Claimed, LiveRow, PendingRow, PendingStore, RowToKeep } from "../pending-store.ts";
import { Database, type SqlValue } from "./database.ts";
import { preparePrivateFile } from "./private-file.ts";
import { archiveErrorFrom, loadSqlite } from "./sqlite.ts";

const BUSY_TIMEOUT_MS = 10_000;
const VERSION = 1;

const TABLE = `
  CREATE TABLE IF NOT EXISTS pending (
    ticket TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    question BLOB NOT NULL,
    answer BLOB,
    run BLOB,
    owner TEXT
  ) STRICT;
  PRAGMA user_version = ${VERSION};
`;

const Bytes = z.instanceof(Uint8Array);
const Listed = z.object({
  ticket: z.string(),
  principal: z.string(),
  asked_at: z.int(),
  expires_at: z.int(),
  question: Bytes,
  answer: z.nullable(Bytes),
  owner: z.nullable(z.string()),
  has_run: z.int(),
});
const Kept = z.object({ run: z.nullable(Bytes), answer: z.nullable(Bytes), owner: z.nullable(z.string()) });
const UserVersion = z.object({ user_version: z.int() });
const Count = z.object({ count: z.int() });

/**
 * Keeps what waits for approval in one SQLite file. Each use opens the file, because uses are rare and the file may be moved
 * or deleted in between.
 */
export class SqlitePendingStore implements PendingStore {
  readonly #file: string;
  readonly #now: () => number;

  /** @param now returns milliseconds since 1970. Rows expire by this clock. */
  constructor(path: string, now: () => number) {
    this.#file = resolve(path);
    this.#now = now;
  }

  async keep({ run, ...row }: RowToKeep, most: number): Promise<boolean> {
    return this.#change((db) => {
      const count = "SELECT count(*) AS count FROM pending WHERE principal = ?";
      if ((db.get(Count, count, row.principal)?.count ?? 0) >= most) return false;
      insert(db, row, { run, owner: null });
      return true;
    });
  }

  async offer({ owner, ...row }: LiveRow): Promise<void> {
    this.#change((db) => insert(db, row, { run: null, owner }));
  }

  async offered(ticket: string, owner: string): Promise<Uint8Array | undefined> {
    return this.#look((db) => answerOffered(db, ticket, owner), undefined);
  }

  async withdraw(ticket: string, owner: string): Promise<Uint8Array | undefined> {
    return this.#look((db) => {
      const answer = answerOffered(db, ticket, owner);
      db.run("DELETE FROM pending WHERE ticket = ? AND owner = ? AND run IS NULL", ticket, owner);
      return answer;
    }, undefined);
  }

  async list(principal: string | undefined): Promise<PendingRow[]> {
    const select = `SELECT ticket, principal, asked_at, expires_at, question, answer, owner, run IS NOT NULL AS has_run
       FROM pending WHERE principal = ifnull(?, principal) ORDER BY asked_at, ticket`;
    const rows = this.#look((db) => db.all(Listed, select, principal ?? null), []);
    return rows.map(({ asked_at: askedAt, expires_at: expiresAt, has_run, ...row }) => ({
      ...row,
      askedAt,
      expiresAt,
      isKept: has_run === 1,
    }));
  }

  async answer(ticket: string, principal: string, answer: Uint8Array): Promise<boolean> {
    const update = "UPDATE pending SET answer = ? WHERE ticket = ? AND principal = ? AND answer IS NULL";
    return this.#look((db) => db.run(update, answer, ticket, principal) === 1, false);
  }

  async claim(
    ticket: string,
    principal: string,
    owner: string,
    isDead: (owner: string) => boolean,
  ): Promise<Claimed> {
    const select = "SELECT run, answer, owner FROM pending WHERE ticket = ? AND principal = ?";
    return this.#look<Claimed>(
      (db) => {
        const kept = db.get(Kept, select, ticket, principal);
        if (kept === undefined) return { kind: "unknown" };
        if (kept.run === null) return { kind: "live" };
        if (kept.answer === null) return { kind: "unanswered" };
        if (kept.owner !== null && !isDead(kept.owner)) return { kind: "taken" };
        db.run("UPDATE pending SET owner = ? WHERE ticket = ?", owner, ticket);
        return { kind: "claimed", run: kept.run, answer: kept.answer };
      },
      { kind: "unknown" },
    );
  }

  async release(ticket: string, owner: string): Promise<void> {
    const update = "UPDATE pending SET owner = NULL WHERE ticket = ? AND owner = ?";
    this.#look((db) => db.run(update, ticket, owner), 0);
  }

  async remove(ticket: string, owner: string): Promise<boolean> {
    return this.#look(
      (db) => db.run("DELETE FROM pending WHERE ticket = ? AND owner = ?", ticket, owner) === 1,
      false,
    );
  }

  /** Works in one transaction. Does nothing if there is no file, and creates none. */
  #look<T>(work: (db: Database) => T, otherwise: T): T {
    return existsSync(this.#file) ? this.#change(work) : otherwise;
  }

  /** Works in one transaction. Creates the file if there is none. */
  #change<T>(work: (db: Database) => T): T {
    const db = this.#open();
    try {
      return db.transaction(() => work(db));
    } finally {
      db.close();
    }
  }

  #open(): Database {
    const { DatabaseSync } = loadSqlite();
    preparePrivateFile(this.#file);
    let db: Database;
    try {
      db = new Database(this.#file, new DatabaseSync(this.#file));
    } catch (error) {
      throw archiveErrorFrom(error, this.#file);
    }
    try {
      db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA trusted_schema = OFF;`);
      db.exec("PRAGMA secure_delete = ON; PRAGMA synchronous = FULL");
      const version = db.get(UserVersion, "PRAGMA user_version")?.user_version ?? 0;
      if (version > VERSION)
        throw new ArchiveError("newer", `${this.#file} was written by a newer ptc: update this one`);
      if (version < VERSION) db.exec(TABLE);
      db.run("DELETE FROM pending WHERE expires_at <= ?", this.#now());
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  }
}

function insert(
  db: Database,
  { ticket, principal, askedAt, expiresAt, question }: Omit<RowToKeep, "run">,
  { run, owner }: { run: SqlValue; owner: SqlValue },
): void {
  db.run(
    "INSERT INTO pending (ticket, principal, asked_at, expires_at, question, run, owner) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ...[ticket, principal, askedAt, expiresAt, question, run, owner],
  );
}

function answerOffered(db: Database, ticket: string, owner: string): Uint8Array | undefined {
  const select = "SELECT run, answer, owner FROM pending WHERE ticket = ? AND owner = ? AND run IS NULL";
  return db.get(Kept, select, ticket, owner)?.answer ?? undefined;
}
