import { findSqlite, type SqliteModule } from "../../system/sqlite.ts";
import { ArchiveError, type ArchiveErrorCode } from "../archive-error.ts";

/** Loads Node's own SQLite. @throws ArchiveError `unavailable` on a Node that is too old. */
export function loadSqlite(load?: (name: string) => unknown): SqliteModule {
  const sqlite = findSqlite(load);
  if (sqlite !== undefined) return sqlite;
  const message = `the archive needs Node 22.13 or newer, and this is ${process.version}: update Node`;
  throw new ArchiveError("unavailable", message);
}

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html) on which a user can act. */
const CAUSES: Readonly<Record<number, readonly [ArchiveErrorCode, string]>> = {
  3: ["unwritable", "may not be opened: check its permissions"],
  5: ["busy", "is in use by another process for too long: try again"],
  6: ["busy", "is in use by another process for too long: try again"],
  8: ["unwritable", "cannot be written: check the permissions of the file and its folder"],
  10: ["failed", "cannot be read or written: check its disk"],
  11: ["corrupt", "is damaged: move it away, and the next run starts a new one"],
  13: ["full", "cannot grow, its disk is full: free some space, or run `ptc runs prune`"],
  14: ["unwritable", "cannot be opened: check the permissions of the file and its folder"],
  15: ["busy", "is opened and closed by other processes too often: try again"],
  18: ["unkeepable", "cannot hold a value so large"],
  19: ["unkeepable", "already holds something that conflicts with it"],
  26: ["corrupt", "is damaged or not a database: move it away, and the next run starts a new one"],
};

/** Turns an error of SQLite into one line about the file. An `ArchiveError` is returned unchanged. */
export function archiveErrorFrom(error: unknown, path: string): ArchiveError {
  if (error instanceof ArchiveError) return error;
  const { errcode, message } = error as { errcode?: unknown; message?: string };
  const [code, what] = (typeof errcode === "number" ? CAUSES[errcode & 0xff] : undefined) ?? [
    "failed" as const,
    "cannot be used",
  ];
  return new ArchiveError(code, `the archive ${path} ${what} (${message ?? String(error)})`, error);
}
