import { setTimeout as delay } from "node:timers/promises";
import { tryLockFile } from "../../../base/try-lock-file.ts";
import { AuthorizationError } from "../authorization.ts";

const POLL_MS = 25;
/** Longer than a holder takes: its requests to an authorization server are bounded. */
const PATIENCE_MS = 90_000;

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
  const sqlite = loadSqlite();
  const began = performance.now();
  for (;;) {
    const release = tryLockFile(sqlite, path);
    if (release !== undefined) return release;
    if (performance.now() - began > PATIENCE_MS)
      throw new AuthorizationError("waits for another ptc that does not finish with its login; end that one");
    await delay(POLL_MS * (1 + Math.random()), undefined, { signal });
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
  throw new AuthorizationError(
    `needs a login, and this Node.js has no SQLite for its lock: install a current one`,
  );
}
