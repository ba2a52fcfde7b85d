import type { ToolDirectory } from "../catalog/tool-directory.ts";

/** A tool that was found, best first. */
export interface FoundTool {
  namespacedName: string;
}

export interface FoundTools {
  /** At most as many as were asked for. */
  found: FoundTool[];
  /** How many there are in all. */
  total: number;
}

/** What programs can call just now. Replaced as a whole when servers change, so that one answer never mixes two states. */
export interface CatalogView {
  readonly directory: ToolDirectory;
  /** @param scope server module that the search is kept to. */
  search(query: string, scope: string | undefined, limit: number): FoundTools;
  /** Configured servers whose tools are not known, with the reason. */
  readonly unlisted: ReadonlyMap<string, string>;
}

export interface LiveCatalog {
  current(): Promise<CatalogView>;
  /** The listener is told when the set of servers has changed. */
  onServersChanged(listener: () => void): void;
}
