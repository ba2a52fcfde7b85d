import type { ServerTools } from "../tool.ts";
import { canBeMeant, type SearchableTool } from "./searchable-text.ts";
import { type SearchHit, type SearchHits, type SearchOptions, ToolSearch } from "./tool-search.ts";

/**
 * The search index of a catalog and of its later states. The first search builds it. Later searches update it server by server,
 * and do not index unchanged servers again.
 */
export class ToolIndex {
  readonly #search = new ToolSearch();
  /** The indexed tools of each server, by module. */
  readonly #indexed = new Map<string, { tools: ServerTools["tools"]; contents: string }>();

  /** Searches only these servers. @param options `server` is a module. @param stage ranks the results of the search by words. */
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

/** The result of a stage after a search by words. */
export interface Ranking {
  /** Best first, with the stage's scores. If absent, the result of the search by words stays. */
  readonly hits?: readonly SearchHit[];
  /** Whether even the best hit hardly matches the query. By default, the search by words decides. */
  readonly fitsPoorly?: boolean;
  /** Why the stage could not do its part, in words for people. */
  readonly problem?: string;
}

/**
 * A stage after the search by words, such as a comparison of embeddings or a choice by a model. It may reorder candidates, drop
 * some, and add other tools of `tools`. It has its own time limit, and never rejects.
 */
export interface RankingStage {
  rank(query: string, found: SearchHits, tools: readonly SearchableTool[]): Promise<Ranking>;
  /** Prepares searches among these tools in the background, so that they need not wait. */
  prepare?(tools: readonly SearchableTool[]): void;
}

/** The least number of candidates for a stage. */
const CANDIDATES = 50;

/** The result of a search, and why a stage could not do its part. */
interface RankedHits extends SearchHits {
  problem?: string;
}

/**
 * The tools that fit a query best, ranked by `stage` if there is one. A stage's hits count once for each tool in the index and in
 * scope. A query that is a tool's name needs no ranking.
 */
export async function searchTools(
  search: ToolSearch,
  query: string,
  options: SearchOptions,
  stage?: RankingStage,
): Promise<RankedHits> {
  if (stage === undefined) return search.search(query, options);
  const { server, limit } = options;
  const found = search.search(query, {
    server,
    limit: Math.max(limit, CANDIDATES),
    measuresCoverage: true,
  });
  const { total, fitsPoorly: lacksWords } = found;
  const byWords = (): RankedHits => ({
    results: found.results.slice(0, limit),
    total,
    ...(lacksWords ? { fitsPoorly: true } : {}),
  });
  if (found.isName) return byWords();
  const meant = [...search.list(server)].filter((tool) => canBeMeant(tool, query));
  const tools = new Map(meant.map((tool) => [tool.namespacedName, tool]));
  const {
    hits: ranked,
    fitsPoorly = lacksWords,
    problem,
  } = await stage.rank(query, found, [...tools.values()]);
  const told = problem === undefined ? {} : { problem };
  if (ranked === undefined) return { ...byWords(), ...told };
  const hits = new Map<string, SearchHit>();
  for (const { tool, score } of ranked) {
    const listed = tools.get(tool.namespacedName);
    if (listed !== undefined && !hits.has(tool.namespacedName)) {
      hits.set(tool.namespacedName, { tool: listed, score });
    }
  }
  // Candidates that the stage did not get match nevertheless.
  const unranked = found.total - found.results.length;
  const results = [...hits.values()].slice(0, limit);
  return { results, total: hits.size + unranked, ...(fitsPoorly ? { fitsPoorly } : {}), ...told };
}
