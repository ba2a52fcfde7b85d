import type { ArchiveStore } from "../archive/archive-store.ts";
import { SqliteArchiveStore } from "../archive/sqlite/sqlite-archive-store.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { moduleUrl } from "./package.ts";

/** Opens the configured archive. It reads and creates nothing before its first method is called. The caller closes it. */
export function openArchive({ archive }: Pick<Configuration, "archive">): ArchiveStore {
  const { path, keepDays } = archive;
  return new SqliteArchiveStore({ path, keepDays }, moduleUrl("archive/sqlite/writer/writer-worker"));
}
