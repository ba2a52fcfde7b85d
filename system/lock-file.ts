import { closeSync, lstatSync, openSync } from "node:fs";

const SQLITE_BUSY = 5;

/** The connections that hold a lock. One that nothing refers to would be closed as garbage, and its lock with it. */
const holding = new Set<object>();

/**
 * Takes a lock that all processes of this user respect, and that the system lets go of when its holder dies: the lock of a file
 * that SQLite opens. Nothing is ever written to the file. Returns what lets go of it; `undefined` while somebody else holds it.
 *
 * @throws Error when the file is no plain one, or cannot be opened.
 */
export function tryLockFile(
  { DatabaseSync }: typeof import("node:sqlite"),
  path: string,
): (() => void) | undefined {
  const before = makeFile(path);
  const connection = new DatabaseSync(path);
  let isHeld = false;
  try {
    connection.exec("PRAGMA busy_timeout = 0");
    connection.exec("BEGIN EXCLUSIVE");
    // The lock of a file that was removed meanwhile keeps nobody out.
    isHeld = inodeOf(path) === before;
    if (!isHeld) return undefined;
    holding.add(connection);
    return () => {
      if (holding.delete(connection)) connection.close();
    };
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
