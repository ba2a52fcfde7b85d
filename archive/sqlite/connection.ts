import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import * as z from "zod/mini";
import { ArchiveError } from "../archive-error.ts";
import { stateEarlierPrunings } from "./chain-ends.ts";
import { Database } from "./database.ts";
import { preparePrivateFile, refuseOtherKinds, refuseUnwritableFolder } from "./private-file.ts";
import { archiveErrorFrom, loadSqlite } from "./sqlite.ts";

/** How long a statement waits for other writers. */
const BUSY_TIMEOUT_MS = 10_000;
/** A larger write-ahead log is cut to this size after a checkpoint. */
const LOG_LIMIT_BYTES = 8 * 1024 * 1024;
const WAL_RETRY_MS = 10;

const JournalMode = z.object({ journal_mode: z.string() });

/** Several ptc processes may share an archive. Readers see the last committed state, and writers take turns. */
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
 * Checks whether runs could be archived at a path. Does not change an archive, and creates none.
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
 * @throws ArchiveError `missing` when nothing was ever archived there, and others.
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
 * Opens an archive for reading, even in a read-only folder, where SQLite cannot create its `-shm` file. SQLite does not need
 * that file if there is no `-wal` file, because the archive is then a single file.
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
  return db.get(Count, "SELECT count(*) AS tables FROM sqlite_master")?.tables ?? 0;
}

/** The identity of the file at a path, for noticing when another file replaces it. `undefined` when there is none. */
export function fileAt(path: string): string | undefined {
  const status = statSync(path, { throwIfNoEntry: false });
  return status && `${status.dev}:${status.ino}`;
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
  return new ArchiveError("missing", `there is no archive at ${file}: the first run creates it`);
}

const Version = z.object({ user_version: z.int() });
const Application = z.object({ application_id: z.int() });
const Count = z.object({ tables: z.int() });

/** How many versions an archive is behind this ptc. 0 if it is up to date. A new, empty file is behind by all versions. */
export function versionsBehind(db: Database, migrations = MIGRATIONS): number {
  // In one snapshot, because another process may be creating the tables.
  return db.snapshot(() => compareVersions(db, migrations));
}

function compareVersions(db: Database, migrations: readonly Migration[]): number {
  const version = db.get(Version, "PRAGMA user_version")?.user_version ?? 0;
  const application = db.get(Application, "PRAGMA application_id")?.application_id ?? 0;
  if (application !== APPLICATION_ID && (countTables(db) > 0 || version > 0)) {
    const message = `${db.path} is not an archive of ptc, and ptc left it alone: give archive.path another file`;
    throw new ArchiveError("foreign", message);
  }
  if (version > migrations.length) {
    const message = `the archive ${db.path} has version ${version}, and this ptc supports at most ${migrations.length}: use a newer ptc, or another archive.path`;
    throw new ArchiveError("newer", message);
  }
  return migrations.length - version;
}

/**
 * Migrates an archive to the version of this ptc, in one transaction.
 *
 * @throws ArchiveError `foreign` or `newer`. Changes nothing in either case.
 */
export function migrate(db: Database, migrations = MIGRATIONS): void {
  if (versionsBehind(db, migrations) === 0) return;
  db.transaction(() => {
    // Checked again under the lock, because another process may have migrated it.
    const behind = versionsBehind(db, migrations);
    for (const migration of migrations.slice(migrations.length - behind))
      if (typeof migration === "string") db.exec(migration);
      else migration(db);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
  });
}

/**
 * The tables of an archive. The record of a run is a blob like any other: one JSON text that names every call and the digest
 * of everything else. Other tables only serve to find a run, and readers check them against its record before they trust them.
 */

/** The id in the header of the file (`PRAGMA application_id`): "ptca". */
const APPLICATION_ID = 0x70746361;

/** SQL, or a function for changes that SQL cannot express. */
type Migration = string | ((db: Database) => void);

/** The n-th entry migrates an archive from version n to n + 1. Entries are only added, never edited. */
export const MIGRATIONS: readonly Migration[] = [
  `
  CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- JSON text, by the SHA-256 of its UTF-8. codec: 0 as it is, 1 Brotli.
  CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    codec INTEGER NOT NULL,
    size INTEGER NOT NULL,
    content BLOB NOT NULL
  ) STRICT;

  -- Records are numbered without gaps, and each links to the one before it.
  CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    record_digest TEXT NOT NULL,
    previous TEXT NOT NULL,
    link TEXT NOT NULL,
    imported_at INTEGER,
    origin TEXT,
    input_digest TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    source TEXT NOT NULL,
    principal TEXT NOT NULL,
    status TEXT NOT NULL,
    duration_ms INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    failed_calls INTEGER NOT NULL,
    result_bytes INTEGER NOT NULL,
    returned_bytes INTEGER NOT NULL,
    redactions INTEGER NOT NULL,
    file_name TEXT NOT NULL,
    title TEXT NOT NULL
  ) STRICT;
  CREATE INDEX runs_by_time ON runs (started_at, source, status, duration_ms, calls, result_bytes, returned_bytes);
  CREATE INDEX runs_by_input ON runs (input_digest, started_at);
  CREATE INDEX runs_by_status ON runs (status, started_at);
  CREATE INDEX runs_that_failed ON runs (started_at) WHERE status <> 'ok';

  CREATE TABLE tools (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    server TEXT NOT NULL,
    UNIQUE (name, server)
  ) STRICT;

  -- The calls of one run to one tool, counted.
  CREATE TABLE run_tools (
    tool INTEGER NOT NULL REFERENCES tools,
    started_at INTEGER NOT NULL,
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    replay INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    failed_calls INTEGER NOT NULL,
    duration_ms REAL NOT NULL,
    result_bytes INTEGER NOT NULL,
    PRIMARY KEY (tool, started_at, run)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX run_tools_by_run ON run_tools (run);

  CREATE TABLE run_blobs (
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    blob INTEGER NOT NULL REFERENCES blobs,
    PRIMARY KEY (run, blob)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX run_blobs_by_blob ON run_blobs (blob);

  -- What a run under way has handed over early, because it is large.
  CREATE TABLE held_blobs (
    run_id TEXT NOT NULL,
    blob INTEGER NOT NULL REFERENCES blobs,
    held_at INTEGER NOT NULL,
    PRIMARY KEY (run_id, blob)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX held_blobs_by_blob ON held_blobs (blob);

  -- The places of pruned runs in the chain.
  CREATE TABLE tombstones (
    id INTEGER PRIMARY KEY,
    entry TEXT NOT NULL,
    pruned_at INTEGER NOT NULL
  ) STRICT;

  -- 'start': the last of the pruned runs that nothing older is left of. 'head': the newest run.
  CREATE TABLE chain_ends (
    name TEXT PRIMARY KEY,
    id INTEGER NOT NULL,
    link TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO chain_ends VALUES ('start', 0, 'none'), ('head', 0, 'none');
  `,
  `
  ALTER TABLE runs ADD COLUMN client_session TEXT;
  CREATE INDEX runs_by_client_session ON runs (client_session, started_at) WHERE client_session IS NOT NULL;
  `,
  (db) => {
    db.exec(`
      -- Entries of the chain that say what was pruned.
      CREATE TABLE prunings (
        id INTEGER PRIMARY KEY,
        previous TEXT NOT NULL,
        statement TEXT NOT NULL
      ) STRICT;
    `);
    stateEarlierPrunings(db, Date.now());
  },
  `
  ALTER TABLE runs ADD COLUMN user TEXT;
  ALTER TABLE runs ADD COLUMN host TEXT;
  ALTER TABLE runs ADD COLUMN client TEXT;
  `,
  `
  CREATE INDEX runs_by_principal ON runs (principal, started_at);
  `,
];
