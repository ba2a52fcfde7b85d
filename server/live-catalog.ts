import type { SearchHits } from "../catalog/search/tool-search.ts";
import type { ToolDirectory } from "../catalog/tool-directory.ts";

/** What programs can call just now. Replaced as a whole when servers change, so that one answer never mixes two states. */
export interface CatalogView {
  readonly directory: ToolDirectory;
  /** @param scope server module that the search is kept to. */
  search(query: string, scope: string | undefined, limit: number): Promise<SearchHits>;
  /** Modules of all servers in the configuration, whether their tools are known or not. */
  readonly configured: readonly string[];
  /** Configured servers whose tools are not known, by module, with the reason. */
  readonly unlisted: ReadonlyMap<string, string>;
}

export interface LiveCatalog {
  current(): Promise<CatalogView>;
  /** The listener is told when the set of servers has changed. */
  onServersChanged(listener: () => void): void;
}
