import { statfsSync } from "node:fs";
import { dirname } from "node:path";
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

const IO_ERROR = 10;
const FULL = 13;
/** With less space, files beside the database cannot be made. */
const LITTLE_SPACE_BYTES = 1024 * 1024;

/**
 * Turns an error of SQLite into one line about the file. An `ArchiveError` is returned unchanged.
 *
 * @param isFull whether the disk of a folder is full. SQLite calls a full disk an I/O error where it fails beside the database.
 */
export function archiveErrorFrom(error: unknown, path: string, isFull = isDiskFull): ArchiveError {
  if (error instanceof ArchiveError) return error;
  const { errcode, message } = error as { errcode?: unknown; message?: string };
  const primary = typeof errcode === "number" ? errcode & 0xff : -1;
  const isOnFullDisk = primary === IO_ERROR && isFull(dirname(path));
  const [code, what] = CAUSES[isOnFullDisk ? FULL : primary] ?? ["failed" as const, "cannot be used"];
  const said = isOnFullDisk ? "" : ` (${message ?? String(error)})`;
  return new ArchiveError(code, `the archive ${path} ${what}${said}`, error);
}

/** Whether the disk of a folder has no room, or no room for another file. */
function isDiskFull(folder: string): boolean {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(folder);
    return bavail * bsize < LITTLE_SPACE_BYTES || (files > 0 && ffree === 0);
  } catch {
    return false;
  }
}
