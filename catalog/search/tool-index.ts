import type { ServerTools } from "../tool.ts";
import { type RankedHits, type RankingStage, searchTools } from "./search-tools.ts";
import { type SearchOptions, ToolSearch } from "./tool-search.ts";

/**
 * The search index of a catalog and of the states that follow it. It is built when it is first searched, and then brought up
 * to date server by server: what has not changed is not indexed again.
 */
export class ToolIndex {
  readonly #search = new ToolSearch();
  /** What the index holds of each server, by module. */
  readonly #indexed = new Map<string, { tools: ServerTools["tools"]; contents: string }>();

  /** Searches these servers and no others. @param options `server` is a module. @param stage ranks what words have found. */
  search(
    servers: readonly ServerTools[],
    query: string,
    options: SearchOptions,
    stage?: RankingStage,
  ): Promise<RankedHits> {
    this.#update(servers);
    return searchTools(this.#search, query, options, stage);
  }

  #update(servers: readonly ServerTools[]): void {
    const present = new Set(servers.map(({ module }) => module));
    for (const module of this.#indexed.keys()) {
      if (present.has(module)) continue;
      this.#search.removeServer(module);
      this.#indexed.delete(module);
    }
    for (const { module, tools } of servers) {
      const indexed = this.#indexed.get(module);
      if (indexed?.tools === tools) continue;
      const contents = tools.map((tool) => `${tool.definitionDigest} ${tool.namespacedName}`).join("\n");
      if (indexed?.contents !== contents) this.#search.setServer(module, tools);
      this.#indexed.set(module, { tools, contents });
    }
  }
}
