import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import * as z from "zod/mini";
import { ArchiveError } from "../../archive-error.ts";
import { Database } from "./database.ts";
import { migrate, versionsBehind } from "./migrate.ts";
import { preparePrivateFile, refuseOtherKinds, refuseUnwritableFolder } from "./private-file.ts";
import { archiveErrorFrom, loadSqlite } from "./sqlite.ts";

/** How long a statement waits for other writers. */
const BUSY_TIMEOUT_MS = 10_000;
/** A larger write-ahead log is cut to this size after a checkpoint. */
const LOG_LIMIT_BYTES = 8 * 1024 * 1024;
const WAL_RETRY_MS = 10;

const TableCount = z.object({ tables: z.int() });
const JournalMode = z.object({ journal_mode: z.string() });

/** Several ptc processes may share an archive: readers see the last committed state, writers take turns. */
const SETTINGS = `
  PRAGMA foreign_keys = ON;
  PRAGMA trusted_schema = OFF;
  PRAGMA journal_size_limit = ${LOG_LIMIT_BYTES};
`;

/**
 * Opens an archive for writing. Creates it, private to its owner, if there is none.
 *
 * @throws ArchiveError
 */
export function openForWriting(path: string, { busyTimeoutMs = BUSY_TIMEOUT_MS } = {}): Database {
  const file = resolve(path);
  const { DatabaseSync } = loadSqlite();
  preparePrivateFile(file);
  const db = connect(file, () => new DatabaseSync(file));
  try {
    db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs};${SETTINGS}`);
    // Checked before the file is changed in any way, because it may be another program's.
    if (versionsBehind(db) > 0) db.exec("PRAGMA auto_vacuum = INCREMENTAL");
    useWriteAheadLog(db, busyTimeoutMs);
    db.exec("PRAGMA secure_delete = FAST");
    // A run that was reported as archived must survive a power failure.
    db.exec("PRAGMA synchronous = FULL");
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Tries whether runs could be archived there just now. Leaves an archive as it is, and makes none.
 *
 * @throws ArchiveError that says why not.
 */
export function tryWriting(path: string): void {
  const file = resolve(path);
  loadSqlite();
  if (existsSync(file)) {
    const db = openForWriting(file);
    try {
      db.transaction(() => {});
    } finally {
      db.close();
    }
    return;
  }
  refuseOtherKinds(file);
  refuseUnwritableFolder(file);
}

/**
 * Opens an archive for reading. An archive of an older version is migrated first.
 *
 * @throws ArchiveError, `missing` when nothing was ever archived there.
 */
export function openForReading(path: string): Database {
  const file = resolve(path);
  refuseOtherKinds(file);
  if (!existsSync(file)) throw nothingArchived(file);
  const db = openThere(file);
  try {
    if (versionsBehind(db) === 0) return db;
  } catch (error) {
    db.close();
    throw error;
  }
  const isEmpty = countTables(db) === 0;
  db.close();
  if (isEmpty) throw nothingArchived(file);
  openForWriting(file).close();
  return openReadOnly(file, file);
}

/**
 * Opens an archive for reading, even in a read-only folder. There SQLite cannot create its `-shm` file. It works without one
 * if there is no `-wal` file, since the one file is then the whole archive.
 */
function openThere(file: string): Database {
  try {
    return openReadOnly(file, file);
  } catch (error) {
    if (!(error instanceof ArchiveError) || error.code !== "unwritable" || existsSync(`${file}-wal`))
      throw error;
    const url = pathToFileURL(file);
    url.searchParams.set("immutable", "1");
    return openReadOnly(file, url);
  }
}

function openReadOnly(file: string, target: string | URL): Database {
  const { DatabaseSync } = loadSqlite();
  const db = connect(file, () => new DatabaseSync(target, { readOnly: true }));
  try {
    db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS};${SETTINGS}`);
    countTables(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function countTables(db: Database): number {
  return db.get(TableCount, "SELECT count(*) AS tables FROM sqlite_master")?.tables ?? 0;
}

function connect(file: string, open: () => ConstructorParameters<typeof Database>[1]): Database {
  try {
    return new Database(file, open());
  } catch (error) {
    throw archiveErrorFrom(error, file);
  }
}

/** Retries while another process does the same, because SQLite does not wait for this lock. */
function useWriteAheadLog(db: Database, timeoutMs: number): void {
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    try {
      const mode = db.get(JournalMode, "PRAGMA journal_mode = WAL")?.journal_mode;
      if (mode !== "wal")
        throw new ArchiveError("failed", `the archive ${db.path} cannot have a write-ahead log here`);
      return;
    } catch (error) {
      if (!(error instanceof ArchiveError) || error.code !== "busy" || Date.now() > giveUpAt) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAL_RETRY_MS);
    }
  }
}

function nothingArchived(file: string): ArchiveError {
  return new ArchiveError(
    "missing",
    `there is no archive at ${file}: the first run that is archived makes it`,
  );
}
