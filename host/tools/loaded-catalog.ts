import type { StoredCatalog } from "../../catalog/store/stored-catalog.ts";
import type { ProgramTools } from "./program-tools.ts";

/** The catalog as it was read last. */
export interface LoadedCatalog {
  stored: StoredCatalog | undefined;
  tools: ProgramTools;
}
