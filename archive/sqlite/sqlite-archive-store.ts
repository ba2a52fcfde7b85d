import { ArchiveError } from "../archive-error.ts";
import type {
  ArchiveStore,
  KeptHead,
  PendingRun,
  Pruned,
  PruneOptions,
  Verification,
} from "../archive-store.ts";
import { type ArchivedRun, withValues } from "../reading/archived-run.ts";
import type { FollowingRuns } from "../reading/following-runs.ts";
import type { PageFilter, RunPage } from "../reading/listed-run.ts";
import type { FoundRuns } from "../reading/run-reference.ts";
import type { Stats } from "../reading/run-stats.ts";
import type { RunIntake, RunOrigin } from "../run-intake.ts";
import { readBlob } from "./blobs.ts";
import { deleteRunsById, pruneRuns } from "./changes/prune.ts";
import { SqliteIntake } from "./changes/sqlite-intake.ts";
import { readChainEnd } from "./file/chain-ends.ts";
import { openForReading, openForWriting, tryWriting } from "./file/connection.ts";
import type { Database } from "./file/database.ts";
import { findRunIds, findRuns } from "./queries/find-runs.ts";
import { listFollowing } from "./queries/list-following.ts";
import { listRunPage } from "./queries/list-runs.ts";
import { readRun } from "./queries/read-run.ts";
import { readStats } from "./queries/stats.ts";
import { verifyArchive } from "./queries/verify.ts";
import { ArchiveWriter } from "./writer/archive-writer.ts";
import type { WriterOptions } from "./writer/writer-messages.ts";

/**
 * Keeps runs in one SQLite file. Connections are opened on first use: one for reading and one for deleting and importing. A
 * thread of its own archives runs.
 */
export class SqliteArchiveStore implements ArchiveStore {
  readonly #path: string;
  readonly #writer: ArchiveWriter;
  #reading: Database | undefined;
  #changing: Database | undefined;

  /** @param workerModule the `writer-worker` module, if it is not beside `archive-writer`. */
  constructor(options: WriterOptions, workerModule?: URL) {
    this.#path = options.path;
    this.#writer = new ArchiveWriter(options, workerModule);
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
    return readArchived(this.#toRead(), runId);
  }

  async stats(filter: { sinceMs?: number }): Promise<Stats> {
    return readStats(this.#toRead(), filter);
  }

  async verify(heads: readonly KeptHead[] = []): Promise<Verification> {
    return verifyArchive(this.#toRead(), heads);
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

  async takeIn(origin: RunOrigin): Promise<RunIntake> {
    return new SqliteIntake(this.#toChange(), origin);
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#reading?.close();
    this.#changing?.close();
    this.#reading = undefined;
    this.#changing = undefined;
  }

  #toRead(): Database {
    this.#reading ??= openForReading(this.#path);
    return this.#reading;
  }

  /** Opens the archive for deleting, but does not create one for that. */
  #toDelete(): Database {
    this.#toRead();
    return this.#toChange();
  }

  #toChange(): Database {
    this.#changing ??= openForWriting(this.#path);
    return this.#changing;
  }
}

/** Reads one run, whose values are read later through the same connection. @throws ArchiveError */
export function readArchived(db: Database, runId: string): ArchivedRun {
  return withValues(readRun(db, runId), async (digest) => readBlob(db, digest));
}
