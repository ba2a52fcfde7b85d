import { existsSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod/mini";
import { ArchiveError } from "../archive-error.ts";
import type {
  Claimed,
  KeptOrNot,
  LiveRow,
  MostWaiting,
  PendingRow,
  PendingStore,
  RowToKeep,
} from "../pending-store.ts";
import { Database, type SqlValue } from "./database.ts";
import { preparePrivateFile } from "./private-file.ts";
import { archiveErrorFrom, loadSqlite } from "./sqlite.ts";

const BUSY_TIMEOUT_MS = 10_000;
const VERSION = 2;

/**
 * What is listed stands in rows of its own, because SQLite reads a row up to the column that it wants. `question` is what is listed of
 * it, and an empty `run` says that there is one.
 */
const TABLES = [
  `CREATE TABLE IF NOT EXISTS pending (
    ticket TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    question BLOB NOT NULL,
    answer BLOB,
    run BLOB,
    owner TEXT
  ) STRICT`,
  `ALTER TABLE pending ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE pending_content (ticket TEXT PRIMARY KEY, question BLOB NOT NULL, run BLOB) STRICT;
  INSERT INTO pending_content SELECT ticket, question, run FROM pending;
  UPDATE pending SET bytes = length(question), run = CASE WHEN run IS NULL THEN NULL ELSE x'' END;
  CREATE TRIGGER pending_gone AFTER DELETE ON pending BEGIN
    DELETE FROM pending_content WHERE ticket = old.ticket;
  END;
  CREATE INDEX pending_by_principal ON pending (principal, bytes);
  CREATE INDEX pending_by_expiry ON pending (expires_at)`,
];

const Bytes = z.instanceof(Uint8Array);
const Listed = z.object({
  ticket: z.string(),
  principal: z.string(),
  asked_at: z.int(),
  expires_at: z.int(),
  listing: Bytes,
  answer: z.nullable(Bytes),
  owner: z.nullable(z.string()),
  has_run: z.int(),
});
const LISTED =
  "ticket, principal, asked_at, expires_at, question AS listing, answer, owner, run IS NOT NULL AS has_run";
const Kept = z.object({ has_run: z.int(), answer: z.nullable(Bytes), owner: z.nullable(z.string()) });
const Run = z.object({ run: Bytes });
const Question = z.object({ question: Bytes });
const UserVersion = z.object({ user_version: z.int() });
const Waiting = z.object({ runs: z.int(), bytes: z.int() });

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

  async keep({ run, ...row }: RowToKeep, most: MostWaiting): Promise<KeptOrNot> {
    return this.#change((db) => insertWithin(db, row, { run, owner: null }, most));
  }

  async offer({ owner, ...row }: LiveRow, { bytes }: Pick<MostWaiting, "bytes">): Promise<KeptOrNot> {
    return this.#change((db) => insertWithin(db, row, { run: null, owner }, { bytes }));
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
    const whose = principal === undefined ? "" : "WHERE principal = ?";
    const select = `SELECT ${LISTED} FROM pending ${whose} ORDER BY asked_at, ticket`;
    const given = principal === undefined ? [] : [principal];
    return this.#look((db) => db.all(Listed, select, ...given), []).map(rowOf);
  }

  async row(ticket: string): Promise<PendingRow | undefined> {
    const select = `SELECT ${LISTED} FROM pending WHERE ticket = ?`;
    const row = this.#look((db) => db.get(Listed, select, ticket), undefined);
    return row && rowOf(row);
  }

  async question(ticket: string): Promise<Uint8Array | undefined> {
    const select = "SELECT question FROM pending_content WHERE ticket = ?";
    return this.#look((db) => db.get(Question, select, ticket)?.question, undefined);
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
    const select =
      "SELECT run IS NOT NULL AS has_run, answer, owner FROM pending WHERE ticket = ? AND principal = ?";
    return this.#look<Claimed>(
      (db) => {
        const kept = db.get(Kept, select, ticket, principal);
        if (kept === undefined) return { kind: "unknown" };
        if (kept.has_run === 0) return { kind: "live" };
        if (kept.answer === null) return { kind: "unanswered" };
        if (kept.owner !== null && !isDead(kept.owner)) return { kind: "taken" };
        const content = db.get(Run, "SELECT run FROM pending_content WHERE ticket = ?", ticket);
        if (content === undefined) return { kind: "unknown" };
        db.run("UPDATE pending SET owner = ? WHERE ticket = ?", owner, ticket);
        return { kind: "claimed", run: content.run, answer: kept.answer };
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
      if (version < VERSION) db.transaction(() => upgrade(db));
      db.run("DELETE FROM pending WHERE expires_at <= ?", this.#now());
    } catch (error) {
      db.close();
      throw error;
    }
    return db;
  }
}

/** Brings the tables to the present version. Another process may have done so meanwhile. */
function upgrade(db: Database): void {
  const version = db.get(UserVersion, "PRAGMA user_version")?.user_version ?? 0;
  for (const statements of TABLES.slice(version)) db.exec(statements);
  db.exec(`PRAGMA user_version = ${VERSION}`);
}

function rowOf({
  asked_at: askedAt,
  expires_at: expiresAt,
  has_run,
  ...row
}: z.infer<typeof Listed>): PendingRow {
  return { ...row, askedAt, expiresAt, isKept: has_run === 1 };
}

/** Inserts a row, unless too much of its principal waits. */
function insertWithin(
  db: Database,
  { ticket, principal, askedAt, expiresAt, listing, question }: Omit<RowToKeep, "run">,
  { run, owner }: { run: Uint8Array | null; owner: SqlValue },
  most: Partial<MostWaiting>,
): KeptOrNot {
  const count = "SELECT count(*) AS runs, ifnull(sum(bytes), 0) AS bytes FROM pending WHERE principal = ?";
  const waiting = db.get(Waiting, count, principal) ?? { runs: 0, bytes: 0 };
  if (waiting.runs >= (most.runs ?? Number.POSITIVE_INFINITY)) return "too_many";
  if (waiting.bytes + question.length > (most.bytes ?? Number.POSITIVE_INFINITY)) return "too_large";
  db.run(
    "INSERT INTO pending (ticket, principal, asked_at, expires_at, question, run, owner, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    ...[ticket, principal, askedAt, expiresAt, listing],
    ...[run === null ? null : new Uint8Array(), owner, question.length],
  );
  db.run("INSERT INTO pending_content (ticket, question, run) VALUES (?, ?, ?)", ticket, question, run);
  return "kept";
}

function answerOffered(db: Database, ticket: string, owner: string): Uint8Array | undefined {
  const select =
    "SELECT run IS NOT NULL AS has_run, answer, owner FROM pending WHERE ticket = ? AND owner = ? AND run IS NULL";
  return db.get(Kept, select, ticket, owner)?.answer ?? undefined;
}
