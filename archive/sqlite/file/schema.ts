import { stateEarlierPrunings } from "./chain-ends.ts";
import type { Database } from "./database.ts";

/**
 * The tables of an archive. The record of a run is a blob like any other: one JSON text that names every call and the digest
 * of everything else. Other tables only serve to find a run, and are checked against its record before they are trusted.
 */

/** In the header of the file (`PRAGMA application_id`): "ptca". */
export const APPLICATION_ID = 0x70746361;

/** SQL, or what has to be computed. */
export type Migration = string | ((db: Database) => void);

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
];
