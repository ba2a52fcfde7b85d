import { ArchiveError, type ArchiveErrorCode } from "./archive-error.ts";

export type SqliteModule = typeof import("node:sqlite");

/**
 * Node's own SQLite. Some versions warn that it is experimental; the people who run ptc can do nothing about that.
 *
 * @throws ArchiveError `unavailable` on a Node that is too old.
 */
export function loadSqlite(
  load: (name: string) => unknown = (name) => process.getBuiltinModule?.(name),
): SqliteModule {
  const emitWarning = process.emitWarning;
  process.emitWarning = ((...warning: Parameters<typeof emitWarning>) => {
    if (!String(warning[0]).startsWith("SQLite is an experimental feature")) emitWarning(...warning);
  }) as typeof emitWarning;
  try {
    const sqlite = load("node:sqlite");
    if (sqlite !== undefined) return sqlite as SqliteModule;
  } finally {
    process.emitWarning = emitWarning;
  }
  const message = `the archive needs Node 22.13 or newer, and this is ${process.version}: update Node`;
  throw new ArchiveError("unavailable", message);
}

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html) that a person can do something about. */
const CAUSES: Readonly<Record<number, readonly [ArchiveErrorCode, string]>> = {
  3: ["unwritable", "may not be opened: check its permissions"],
  5: ["busy", "is in use by another process for too long: try again"],
  6: ["busy", "is in use by another process for too long: try again"],
  8: ["unwritable", "cannot be written: check the permissions of the file and its folder"],
  10: ["failed", "cannot be read or written: check its disk"],
  11: ["corrupt", "is damaged: move it away, and the next run starts a new one"],
  13: ["full", "cannot grow, its disk is full: free some space, or run `ptc runs prune`"],
  14: ["unwritable", "cannot be opened: check the permissions of the file and its folder"],
  26: ["corrupt", "is damaged or no database: move it away, and the next run starts a new one"],
};

/** Turns what SQLite throws into one line about the file. Errors of the archive's own pass through. */
export function archiveErrorFrom(error: unknown, path: string): ArchiveError {
  if (error instanceof ArchiveError) return error;
  const { errcode, message } = error as { errcode?: unknown; message?: string };
  const [code, what] = (typeof errcode === "number" ? CAUSES[errcode & 0xff] : undefined) ?? [
    "failed" as const,
    "cannot be used",
  ];
  return new ArchiveError(code, `the archive ${path} ${what} (${message ?? String(error)})`, error);
}
