import { closeSync, openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { AuthorizationError } from "../authorization.ts";

/**
 * A lock that all processes of this user respect, and that the system lets go of when its holder dies: the lock of a file that
 * SQLite opens. Nothing is ever written to the file.
 */

const POLL_MS = 25;
/** Longer than a holder takes: its requests to an authorization server are bounded. */
const PATIENCE_MS = 90_000;
const SQLITE_BUSY = 5;

/** Does some work while nobody else holds the lock. @throws AuthorizationError when it cannot be had, and what the work throws. */
export async function withLock<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const release = await acquire(path, signal);
  try {
    return await work();
  } finally {
    release();
  }
}

async function acquire(path: string, signal: AbortSignal | undefined): Promise<() => void> {
  const { DatabaseSync } = loadSqlite();
  closeSync(openSync(path, "a", 0o600));
  const began = performance.now();
  const connection = new DatabaseSync(path);
  try {
    connection.exec("PRAGMA busy_timeout = 0");
    for (;;) {
      try {
        connection.exec("BEGIN EXCLUSIVE");
        return () => connection.close();
      } catch (error) {
        if (((error as { errcode?: number }).errcode ?? 0) % 256 !== SQLITE_BUSY) throw error;
      }
      if (performance.now() - began > PATIENCE_MS)
        throw new AuthorizationError(
          "waits for another ptc that does not finish with its login; end that one",
        );
      await delay(POLL_MS * (1 + Math.random()), undefined, { signal });
    }
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Node's own SQLite, without the warning of some versions that it is experimental, on which no user can act. */
function loadSqlite(): typeof import("node:sqlite") {
  const emitWarning = process.emitWarning;
  process.emitWarning = () => {};
  try {
    const sqlite = process.getBuiltinModule?.("node:sqlite");
    if (sqlite !== undefined) return sqlite;
  } finally {
    process.emitWarning = emitWarning;
  }
  throw new AuthorizationError(`needs a login, and logins need Node 22.13 or newer: update Node`);
}
