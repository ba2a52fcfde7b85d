export type SqliteModule = typeof import("node:sqlite");

/**
 * Returns Node's SQLite, or `undefined` if this Node.js has none. Suppresses the warning of some versions that it is
 * experimental, because users cannot act on it.
 */
export function findSqlite(
  load: (name: string) => unknown = (name) => process.getBuiltinModule?.(name),
): SqliteModule | undefined {
  const emitWarning = process.emitWarning;
  process.emitWarning = ((...warning: Parameters<typeof emitWarning>) => {
    if (!String(warning[0]).startsWith("SQLite is an experimental feature")) emitWarning(...warning);
  }) as typeof emitWarning;
  try {
    return load("node:sqlite") as SqliteModule | undefined;
  } finally {
    process.emitWarning = emitWarning;
  }
}
