import { randomUUID } from "node:crypto";
import { textDigest } from "../../../base/text-digest.ts";
import { ArchiveError } from "../../archive-error.ts";
import { RecordProblem, readContents } from "../../run-contents.ts";
import type { IntakeResult, RunIntake, RunOrigin } from "../../run-intake.ts";
import { digestsIn, type RunRecord } from "../../run-record.ts";
import { summarizeRun } from "../../run-summary.ts";
import { putBlob, readBlob } from "../blobs.ts";
import type { Database } from "../file/database.ts";
import { appendRun } from "./append-run.ts";
import { recordDigestOf } from "./store-run.ts";
import { holdBlob, releaseHeld } from "./sweep.ts";

/** Characters of texts stored in one transaction, for which other writers wait. */
const BATCH_CHARS = 4 * 1024 * 1024;

/**
 * Imports runs in short transactions, because other writers wait for each. Nothing else may write through `db` meanwhile.
 */
export class SqliteIntake implements RunIntake {
  readonly #db: Database;
  readonly #origin: RunOrigin;
  /** Blobs to which no run refers yet are held under this name. */
  readonly #holder = `import ${randomUUID()}`;
  readonly #blobIds = new Map<string, number>();
  /** By digest, why an added text cannot be stored. */
  readonly #unkept = new Map<string, string>();
  #waiting: string[] = [];
  #waitingChars = 0;
  #begun = false;

  constructor(db: Database, origin: RunOrigin) {
    this.#db = db;
    this.#origin = origin;
  }

  async recordDigestOf(runId: string): Promise<string | undefined> {
    return recordDigestOf(this.#db, runId);
  }

  async addText(json: string): Promise<void> {
    this.#waiting.push(json);
    this.#waitingChars += json.length;
    if (this.#waitingChars > BATCH_CHARS) this.#putWaiting();
  }

  async addRun(record: RunRecord, recordDigest: string): Promise<IntakeResult> {
    this.#putWaiting();
    try {
      return this.#db.transaction((): IntakeResult => {
        const known = recordDigestOf(this.#db, record.run_id);
        if (known !== undefined) return { kind: known === recordDigest ? "known" : "conflict" };
        this.#append(record, recordDigest);
        return { kind: "added" };
      });
    } catch (error) {
      const isBadRun =
        error instanceof RecordProblem || (error instanceof ArchiveError && error.code === "unkeepable");
      if (!isBadRun) throw error;
      return { kind: "refused", problem: error.message };
    }
  }

  async end(): Promise<void> {
    if (!this.#begun) return;
    this.#db.exec("PRAGMA synchronous = FULL");
    releaseHeld(this.#db, this.#holder);
  }

  #append(record: RunRecord, recordDigest: string): void {
    const named = [...digestsIn(record)];
    for (const each of named) {
      const problem = this.#unkept.get(each);
      if (problem !== undefined) throw new RecordProblem(problem);
    }
    const contents = readContents(record, (each) => readBlob(this.#db, each));
    const blobIds = new Set(named.map((each) => this.#blobIds.get(each) ?? 0));
    const stored = appendRun(this.#db, record, summarizeRun(record, contents), blobIds, this.#origin);
    if (stored !== recordDigest) throw new RecordProblem("the record does not match its digest");
  }

  #putWaiting(): void {
    // It is enough to wait for the disk once, at the end.
    if (!this.#begun) this.#db.exec("PRAGMA synchronous = NORMAL");
    this.#begun = true;
    this.#db.transaction(() => {
      for (const json of this.#waiting) this.#put(json);
    });
    this.#waiting = [];
    this.#waitingChars = 0;
  }

  #put(json: string): void {
    try {
      const { digest, id } = putBlob(this.#db, json);
      this.#blobIds.set(digest, id);
      holdBlob(this.#db, this.#holder, id, this.#origin.importedAt);
    } catch (error) {
      if (!(error instanceof ArchiveError && error.code === "unkeepable")) throw error;
      this.#unkept.set(textDigest(json), error.message);
    }
  }
}
