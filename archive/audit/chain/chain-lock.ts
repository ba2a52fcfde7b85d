import { closeSync, lstatSync, openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { loadSqlite, type SqliteModule } from "../../sqlite/file/sqlite.ts";

/** Longer than anybody takes to write some lines. */
const PATIENCE_MS = 5_000;
const LONGEST_PAUSE_MS = 32;
const SQLITE_BUSY = 5;

/**
 * Takes a lock that all processes respect, and that the system lets go of when its holder dies: the lock of a file that SQLite
 * opens. Nothing is ever written to the file. Returns what lets go of it; `undefined` on a Node.js without SQLite.
 *
 * @throws Error when the file is no plain one of this user's, or another process does not let go.
 */
export async function lockChain(path: string): Promise<(() => void) | undefined> {
  const sqlite = findSqlite();
  if (sqlite === undefined) return undefined;
  const began = performance.now();
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const release = tryLock(sqlite, path);
    if (release !== undefined) return release;
    if (performance.now() - began > PATIENCE_MS)
      throw new Error(`another ptc holds its lock ${path} and does not let go: end that one`);
    await delay(pauseMs * (0.5 + Math.random()));
  }
}

function tryLock({ DatabaseSync }: SqliteModule, path: string): (() => void) | undefined {
  const before = makeFile(path);
  const connection = new DatabaseSync(path);
  let isHeld = false;
  try {
    connection.exec("PRAGMA busy_timeout = 0");
    connection.exec("BEGIN EXCLUSIVE");
    // The lock of a file that was removed meanwhile keeps nobody out.
    isHeld = inodeOf(path) === before;
    return isHeld ? () => connection.close() : undefined;
  } catch (error) {
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) return undefined;
    throw error;
  } finally {
    if (!isHeld) connection.close();
  }
}

/**
 * Makes the file unless it is there. One that is there is not opened: closing a file gives up all locks that this process has
 * on it (POSIX, fcntl).
 */
function makeFile(path: string): bigint | undefined {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return inodeOf(path);
}

function inodeOf(path: string): bigint | undefined {
  const status = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (status !== undefined && !status.isFile()) throw new Error(`${path} is not a regular file: remove it`);
  return status?.ino;
}

function findSqlite(): SqliteModule | undefined {
  try {
    return loadSqlite();
  } catch {
    return undefined;
  }
}
