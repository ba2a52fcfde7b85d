import { type ArchiveStore, allRuns, type KeptHead, type Verification } from "../../archive/archive-store.ts";
import type { DamagedRun, ListedRun, PageFilter, RunFilter } from "../../archive/listed-run.ts";
import { readPortable } from "../../archive/portable/portable-format.ts";
import { readRunFile, runFile, writeRunFile } from "../../archive/portable/run-files.ts";
import type { Database } from "../../archive/sqlite/database.ts";
import {
  findRuns,
  importInto,
  listRunPage,
  readArchived as readRun,
} from "../../archive/sqlite/sqlite-archive-store.ts";
import { SqliteRows } from "../../archive/sqlite/stored-rows.ts";
import { verifyArchive as verify } from "../../archive/verification.ts";

export { readRun };

export function verifyArchive(db: Database, heads?: readonly KeptHead[]): Promise<Verification> {
  return db.reading(() => verify(new SqliteRows(db), heads));
}

/** As much of a store as lists, files and reports of runs need, over a connection that a test has open. */
export function storeOn(db: Database): Pick<ArchiveStore, "find" | "list" | "read" | "beginImport"> {
  return {
    find: async (reference) => findRuns(db, reference),
    list: async (filter) => listRunPage(db, filter),
    read: (runId) => readRun(db, runId),
    beginImport: async (origin) => importInto(db, origin),
  };
}

/** Runs that match, the newest first, without those that cannot be listed. */
export function listRuns(db: Database, filter: PageFilter): ListedRun[] {
  return listRunPage(db, filter).runs;
}

/** Every run that matches, read in pages. */
export async function listAllRuns(
  db: Database,
  filter: RunFilter,
  onDamaged: (run: DamagedRun) => void,
  pageSize?: number,
): Promise<ListedRun[]> {
  const runs: ListedRun[] = [];
  for await (const run of allRuns(storeOn(db), filter, onDamaged, pageSize)) runs.push(run);
  return runs;
}

export function exportRuns(db: Database, runIds: readonly string[], file: string) {
  return writeRunFile(storeOn(db), runIds, file);
}

export function importRuns(db: Database, file: string, nowMs: number) {
  return readRunFile(storeOn(db), file, nowMs);
}

export function readFileOfRuns(file: string, limits?: Parameters<typeof readPortable>[1]) {
  return readPortable(runFile(file), limits);
}
