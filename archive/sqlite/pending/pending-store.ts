import { existsSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod/mini";
import { ArchiveError } from "../../archive-error.ts";
import { Database } from "../file/database.ts";
import { preparePrivateFile } from "../file/private-file.ts";
import { archiveErrorFrom, loadSqlite } from "../file/sqlite.ts";

const BUSY_TIMEOUT_MS = 10_000;
const VERSION = 1;

/** Bytes are sealed by whoever keeps them; the store never sees what is in them. */
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

/** What waits for an approval. */
export type PendingRow = z.infer<typeof Listed>;

export interface RowToKeep {
  ticket: string;
  principal: string;
  askedAt: number;
  expiresAt: number;
  question: Uint8Array;
  run: Uint8Array;
}

/** A question whose run waits for it with its sandbox, in a process that can be asked about. */
export interface LiveRow extends Omit<RowToKeep, "run"> {
  owner: string;
}

/** What came of claiming a run. */
export type Claimed =
  | { kind: "claimed"; run: Uint8Array; answer: Uint8Array }
  | { kind: "unanswered" }
  /** Another process goes on with it. */
  | { kind: "taken" }
  /** It has its sandbox, and goes on by itself when its question is answered. */
  | { kind: "live" }
  | { kind: "unknown" };

/**
 * The runs that wait for approvals, in a file that several processes share. Each step is one transaction that survives a power
 * failure: of two answers the first counts, and of two processes one goes on with a run. What has expired is deleted by
 * whoever comes next. Every method throws an `ArchiveError` when the file cannot be used. A run that still has its sandbox is
 * not kept: then there is its question alone, and the process that owns it.
 */
export class PendingStore {
  readonly #db: Database;

  private constructor(db: Database) {
    this.#db = db;
  }

  /** Whether anything was ever kept there. */
  static exists(path: string): boolean {
    return existsSync(resolve(path));
  }

  /** Opens the file, which is made if there is none. */
  static open(path: string, nowMs: number): PendingStore {
    const file = resolve(path);
    const { DatabaseSync } = loadSqlite();
    preparePrivateFile(file);
    let db: Database;
    try {
      db = new Database(file, new DatabaseSync(file));
    } catch (error) {
      throw archiveErrorFrom(error, file);
    }
    try {
      db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA trusted_schema = OFF;`);
      db.exec("PRAGMA secure_delete = ON; PRAGMA synchronous = FULL");
      const version = db.get(UserVersion, "PRAGMA user_version")?.user_version ?? 0;
      if (version > VERSION)
        throw new ArchiveError("newer", `${file} was written by a newer ptc: update this one`);
      if (version < VERSION) db.exec(TABLE);
      db.run("DELETE FROM pending WHERE expires_at <= ?", nowMs);
    } catch (error) {
      db.close();
      throw error;
    }
    return new PendingStore(db);
  }

  add({ ticket, principal, askedAt, expiresAt, question, run }: RowToKeep): void {
    this.#db.run(
      "INSERT INTO pending (ticket, principal, asked_at, expires_at, question, run) VALUES (?, ?, ?, ?, ?, ?)",
      ticket,
      principal,
      askedAt,
      expiresAt,
      question,
      run,
    );
  }

  /** Offers a question while its run waits for it. */
  offer({ ticket, principal, askedAt, expiresAt, question, owner }: LiveRow): void {
    this.#db.run(
      "INSERT INTO pending (ticket, principal, asked_at, expires_at, question, owner) VALUES (?, ?, ?, ?, ?, ?)",
      ticket,
      principal,
      askedAt,
      expiresAt,
      question,
      owner,
    );
  }

  /** The answer to a question that was offered, if there is one. */
  offered(ticket: string, owner: string): Uint8Array | undefined {
    const sql = "SELECT run, answer, owner FROM pending WHERE ticket = ? AND owner = ? AND run IS NULL";
    return this.#db.get(Kept, sql, ticket, owner)?.answer ?? undefined;
  }

  /** Takes a question back, whose answer counts if there is one by now. */
  withdraw(ticket: string, owner: string): Uint8Array | undefined {
    return this.#db.transaction(() => {
      const answer = this.offered(ticket, owner);
      this.#db.run("DELETE FROM pending WHERE ticket = ? AND owner = ? AND run IS NULL", ticket, owner);
      return answer;
    });
  }

  /** Those of a principal, the oldest first. */
  list(principal: string): PendingRow[] {
    return this.#db.all(
      Listed,
      `SELECT ticket, principal, asked_at, expires_at, question, answer, owner, run IS NOT NULL AS has_run
       FROM pending WHERE principal = ? ORDER BY asked_at, ticket`,
      principal,
    );
  }

  /** Gives the first answer. False when there is one already, or nothing waits under the ticket any more. */
  answer(ticket: string, principal: string, answer: Uint8Array): boolean {
    const sql = "UPDATE pending SET answer = ? WHERE ticket = ? AND principal = ? AND answer IS NULL";
    return this.#db.run(sql, answer, ticket, principal) === 1;
  }

  /** Claims a run that was answered, also from a process that has ended before it called anything. */
  claim(ticket: string, principal: string, owner: string, isDead: (owner: string) => boolean): Claimed {
    return this.#db.transaction((): Claimed => {
      const kept = this.#db.get(
        Kept,
        "SELECT run, answer, owner FROM pending WHERE ticket = ? AND principal = ?",
        ticket,
        principal,
      );
      if (kept === undefined) return { kind: "unknown" };
      if (kept.run === null) return { kind: "live" };
      if (kept.answer === null) return { kind: "unanswered" };
      if (kept.owner !== null && !isDead(kept.owner)) return { kind: "taken" };
      this.#db.run("UPDATE pending SET owner = ? WHERE ticket = ?", owner, ticket);
      return { kind: "claimed", run: kept.run, answer: kept.answer };
    });
  }

  /** Gives a claim back. */
  release(ticket: string, owner: string): void {
    this.#db.run("UPDATE pending SET owner = NULL WHERE ticket = ? AND owner = ?", ticket, owner);
  }

  /** Deletes a claimed run for good. False when it is not this owner's. */
  remove(ticket: string, owner: string): boolean {
    return this.#db.run("DELETE FROM pending WHERE ticket = ? AND owner = ?", ticket, owner) === 1;
  }

  close(): void {
    this.#db.close();
  }
}
