import { setTimeout as delay } from "node:timers/promises";
import { tryLockFile } from "../system/lock-file.ts";
import { loadSqlite } from "./sqlite/file/sqlite.ts";

/** Longer than anybody takes to write some lines. */
const PATIENCE_MS = 5_000;
const LONGEST_PAUSE_MS = 32;

/**
 * Takes the lock of a file, which the system lets go of when its holder dies. Returns what lets go of it.
 *
 * @throws Error when the file is no plain one of this user's, or another process does not let go.
 */
export async function lockFile(path: string): Promise<() => void> {
  const sqlite = loadSqlite();
  const began = performance.now();
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const release = tryLockFile(sqlite, path);
    if (release !== undefined) return release;
    if (performance.now() - began > PATIENCE_MS)
      throw new Error(`another ptc holds its lock ${path} and does not let go: end that one`);
    await delay(pauseMs * (0.5 + Math.random()));
  }
}
