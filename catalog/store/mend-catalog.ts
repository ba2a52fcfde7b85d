import type { CatalogServer } from "./catalog.ts";
import type { LockedServer } from "./lockfile.ts";
import type { StoredCatalog } from "./stored-catalog.ts";

/**
 * Replaces the entries of some servers in a catalog by those of one that is trusted. A server that the trusted one does not
 * have is left out, as if it had not been listed yet.
 *
 * @param names the servers whose entries are replaced, by configured name.
 * @returns the mended catalog, and the names of the servers that were left out.
 */
export function mendCatalog(
  found: StoredCatalog,
  trusted: StoredCatalog | undefined,
  names: ReadonlySet<string>,
): { stored: StoredCatalog; unknown: string[] } {
  const servers: CatalogServer[] = [];
  const locked = new Map<string, LockedServer>();
  const unknown: string[] = [];
  for (const name of new Set([...found.catalog.servers.map((server) => server.name), ...names])) {
    const source = names.has(name) ? trusted : found;
    const server = source?.catalog.servers.find((each) => each.name === name);
    const lock = source?.lock.servers.get(name);
    if (server === undefined || lock === undefined) {
      unknown.push(name);
      continue;
    }
    servers.push(server);
    locked.set(name, lock);
  }
  const stored = {
    catalog: { ...found.catalog, servers },
    lock: { ...found.lock, servers: locked },
    learned: found.learned,
  };
  return { stored, unknown };
}
