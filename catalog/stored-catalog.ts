import type { Catalog } from "./catalog.ts";
import type { Lockfile } from "./lockfile.ts";

/** What an earlier generation left. */
export interface StoredCatalog {
  catalog: Catalog;
  lock: Lockfile;
}
