/**
 * Opens the stores of runs, of what waits for approval, of the audit log, documents, counts and shared facts: in files and SQLite, or in
 * PostgreSQL if a `database` is given. A store reads, creates and connects nothing before its first use, and loads the code for
 * PostgreSQL only then.
 */
import { moduleUrl } from "../system/package.ts";
import type { ArchiveStore } from "./archive-store.ts";
import type { AuditChain } from "./audit/chain/audit-chain.ts";
import { type AuditSource, auditFiles } from "./audit/reading/audit-source.ts";
import type { Counters } from "./counters.ts";
import type { Documents } from "./documents.ts";
import {
  LateArchiveStore,
  LateAuditChain,
  LateAuditSource,
  LateCounters,
  LateDocuments,
  LateFacts,
  LatePendingStore,
} from "./late-store.ts";
import type { PendingStore } from "./pending-store.ts";
import type { SharedFacts } from "./shared-facts.ts";
import { openForReading } from "./sqlite/connection.ts";
import { SqliteArchiveStore } from "./sqlite/sqlite-archive-store.ts";
import { SqlitePendingStore } from "./sqlite/sqlite-pending-store.ts";
import { SqliteRows } from "./sqlite/stored-rows.ts";
import type { StoredRows } from "./verification.ts";

/** Finds out the URL of the PostgreSQL that several processes share. @throws ArchiveError */
export type DatabaseUrl = () => Promise<string>;

/** Where runs are kept, and for how many days. */
export interface ArchiveSettings {
  path: string;
  keepDays: number;
  database?: DatabaseUrl | undefined;
}

const postgres = () => import("./postgres/postgres.ts");

/** Opens the configured archive. The caller closes it. */
export function openArchive({ path, keepDays, database }: ArchiveSettings): ArchiveStore {
  if (database === undefined)
    return new SqliteArchiveStore({ path, keepDays }, moduleUrl("archive/sqlite/writer/writer-worker"));
  return new LateArchiveStore(async () => {
    const url = await database();
    return (await postgres()).openPostgresArchive(url, { keepDays });
  });
}

/** Opens the store of what waits for approval, at a path or in a database. @param now returns milliseconds since 1970. */
export function openPendingStore(path: string, now: () => number, database?: DatabaseUrl): PendingStore {
  if (database === undefined) return new SqlitePendingStore(path, now);
  return new LatePendingStore(async () => {
    const url = await database();
    return (await postgres()).openPostgresPending(url, now);
  });
}

/** Opens the audit log in a database for writing. */
export function openAuditChain(
  database: DatabaseUrl,
  options: { keepMs: number; wallMs: () => number },
): AuditChain {
  return new LateAuditChain("in PostgreSQL", async () => {
    const url = await database();
    return (await postgres()).openPostgresAudit(url, options);
  });
}

/** Opens the audit log for reading, in a file or a database. */
export function openAuditSource(path: string, database?: DatabaseUrl): AuditSource {
  if (database === undefined) return auditFiles(path);
  return new LateAuditSource("the audit log in PostgreSQL", async () => {
    const url = await database();
    return (await postgres()).openPostgresAuditSource(url);
  });
}

/** Loads the operations on a database as a whole. */
export const openMaintenance = () => import("./postgres/maintenance.ts");

/** Reads the rows of an archive in a file, all of one state. @throws ArchiveError `missing` when there is none, and others. */
export async function readSqliteRows<T>(path: string, work: (rows: StoredRows) => Promise<T>): Promise<T> {
  const db = openForReading(path);
  try {
    return await db.reading(() => work(new SqliteRows(db)));
  } finally {
    db.close();
  }
}

/** Opens the documents in a database. */
export function openDocuments(database: DatabaseUrl): Documents {
  return new LateDocuments(async () => {
    const url = await database();
    return (await postgres()).openPostgresDocuments(url);
  });
}

/** Opens counts in a database. */
export function openCounters(database: DatabaseUrl): Counters {
  return new LateCounters(async () => {
    const url = await database();
    return (await postgres()).openPostgresCounters(url);
  });
}

/** Opens facts in a database. */
export function openFacts(database: DatabaseUrl): SharedFacts {
  return new LateFacts(async () => {
    const url = await database();
    return (await postgres()).openPostgresFacts(url);
  });
}
