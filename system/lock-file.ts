import { closeSync, lstatSync, openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { doublingPause, type PauseBounds } from "../base/backoff.ts";
import { findSqlite, type SqliteModule } from "./sqlite.ts";

const SQLITE_BUSY = 5;

/** The connections that hold a lock. Garbage collection would close a connection without a reference, and release its lock. */
const holding = new Set<object>();

export class LockError extends Error {
  override readonly name = "LockError";
  /** `busy`: another process keeps the lock. `unavailable`: this Node.js has no SQLite. */
  readonly code: "busy" | "unavailable";

  constructor(code: LockError["code"], message: string) {
    super(message);
    this.code = code;
  }
}

interface LockOptions {
  /** How long to wait for another holder. The default is five seconds, longer than writing some lines takes. */
  patienceMs?: number;
  /** The pauses between tries. */
  pauses?: PauseBounds;
  /** Gives up waiting. */
  signal?: AbortSignal | undefined;
}

/**
 * Takes the lock of a file ({@link tryLockFile}), and waits while another process holds it. Returns a function that releases it.
 *
 * @throws LockError, and Error when the file is not a regular file.
 */
export async function lockFile(
  path: string,
  { patienceMs = 5_000, pauses = { firstMs: 1, longestMs: 32 }, signal }: LockOptions = {},
): Promise<() => void> {
  const sqlite = findSqlite();
  if (sqlite === undefined)
    throw new LockError("unavailable", "this Node.js has no SQLite for its lock: install a current one");
  const began = performance.now();
  for (let tries = 0; ; tries++) {
    const release = tryLockFile(sqlite, path);
    if (release !== undefined) return release;
    if (performance.now() - began > patienceMs)
      throw new LockError("busy", `another ptc holds its lock ${path} and does not release it: end that ptc`);
    await delay(doublingPause(pauses, tries) * (0.5 + Math.random()), undefined, { signal });
  }
}

/**
 * Takes a lock that all processes of this user respect, and that the system releases when its holder dies: SQLite's lock of a
 * file. Never writes to the file. Returns a function that releases the lock, or `undefined` while somebody else holds it.
 *
 * @throws Error when the file is not a regular file, or cannot be opened.
 */
export function tryLockFile({ DatabaseSync }: SqliteModule, path: string): (() => void) | undefined {
  const before = makeFile(path);
  const connection = new DatabaseSync(path);
  let isHeld = false;
  try {
    connection.exec("PRAGMA busy_timeout = 0");
    connection.exec("BEGIN EXCLUSIVE");
    // The lock of a file that was removed meanwhile excludes nobody.
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
 * Creates the file if it does not exist. Does not open an existing file, because closing a file releases all locks that this
 * process has on it (POSIX, fcntl).
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
