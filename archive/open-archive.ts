import { moduleUrl } from "../system/package.ts";
import type { ArchiveStore } from "./archive-store.ts";
import type { PendingStore } from "./pending-store.ts";
import { SqliteArchiveStore } from "./sqlite/sqlite-archive-store.ts";
import { SqlitePendingStore } from "./sqlite/sqlite-pending-store.ts";

/** Where runs are kept, and for how many days. */
export interface ArchiveSettings {
  path: string;
  keepDays: number;
}

/** Opens the configured archive. It reads and creates nothing before its first method is called. The caller closes it. */
export function openArchive({ path, keepDays }: ArchiveSettings): ArchiveStore {
  return new SqliteArchiveStore({ path, keepDays }, moduleUrl("archive/sqlite/writer/writer-worker"));
}

/** Opens what waits for approvals at a path. It reads and makes nothing before something is kept there. */
export function openPendingStore(path: string, now: () => number): PendingStore {
  return new SqlitePendingStore(path, now);
}
