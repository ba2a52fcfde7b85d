/** The entry to PostgreSQL: opens each store by its contract. It is loaded on first use. */
import { moduleUrl } from "../../system/package.ts";
import type { ArchiveStore } from "../archive-store.ts";
import type { Counters } from "../counters.ts";
import type { Documents } from "../documents.ts";
import type { PendingStore } from "../pending-store.ts";
import type { SharedFacts } from "../shared-facts.ts";
import { openPool, type PgDatabase } from "./database.ts";
import { PostgresArchiveStore } from "./postgres-archive-store.ts";
import { PostgresAuditChain, PostgresAuditSource } from "./postgres-audit.ts";
import { PostgresCounters } from "./postgres-counters.ts";
import { PostgresDocuments } from "./postgres-documents.ts";
import { PostgresFacts } from "./postgres-facts.ts";
import { PostgresPendingStore, Presence } from "./postgres-pending-store.ts";
import { migrate } from "./schema.ts";

/** How long one request of counts or facts may take. Programs wait for it before they begin. */
const COUNT_MS = 10_000;

const opened = new Map<string, Promise<PgDatabase>>();
const presences = new WeakMap<PgDatabase, Presence>();

/** The database of a URL, which this process opens and migrates once. @throws ArchiveError */
export function sharedDatabase(url: string): Promise<PgDatabase> {
  let database = opened.get(url);
  if (database === undefined) {
    database = openPool(url).then(async (db) => {
      await migrate(db);
      return db;
    });
    opened.set(url, database);
    // The next caller tries again.
    database.catch(() => opened.delete(url));
  }
  return database;
}

/** @param patienceMs how long to retry archiving a run while the server cannot be reached. */
export async function openPostgresArchive(
  url: string,
  { keepDays, patienceMs }: { keepDays: number; patienceMs?: number | undefined },
): Promise<ArchiveStore> {
  const worker = moduleUrl("archive/postgres/writer/postgres-worker");
  return new PostgresArchiveStore(await sharedDatabase(url), { url, keepDays, patienceMs }, worker);
}

export async function openPostgresPending(url: string, now: () => number): Promise<PendingStore> {
  const db = await sharedDatabase(url);
  const presence = presences.get(db) ?? new Presence(db.within());
  presences.set(db, presence);
  return new PostgresPendingStore(db.within(), now, presence);
}

export async function openPostgresAudit(
  url: string,
  options: { keepMs: number; wallMs: () => number },
): Promise<PostgresAuditChain> {
  return new PostgresAuditChain((await sharedDatabase(url)).within(), options);
}

export async function openPostgresAuditSource(url: string): Promise<PostgresAuditSource> {
  return new PostgresAuditSource(await sharedDatabase(url));
}

export async function openPostgresDocuments(url: string): Promise<Documents> {
  return new PostgresDocuments((await sharedDatabase(url)).within());
}

export async function openPostgresCounters(url: string): Promise<Counters> {
  return new PostgresCounters((await sharedDatabase(url)).within(COUNT_MS));
}

export async function openPostgresFacts(url: string): Promise<SharedFacts> {
  return new PostgresFacts((await sharedDatabase(url)).within(COUNT_MS));
}
