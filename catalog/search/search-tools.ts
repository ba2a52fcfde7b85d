import type { SearchableTool } from "./searchable-text.ts";
import type { SearchHit, SearchHits, SearchOptions, ToolSearch } from "./tool-search.ts";

/**
 * A stage after the search by words, such as a comparison of embeddings or a re-ranking model. It may reorder the
 * candidates, drop some, and name other tools of `tools`.
 */
export interface RankingStage {
  /** Best first. Scores are the stage's own. */
  rank(
    query: string,
    candidates: readonly SearchHit[],
    tools: Iterable<SearchableTool>,
  ): Promise<readonly SearchHit[]>;
}

/** How many candidates a stage gets at least. */
const CANDIDATES = 50;

/**
 * The tools that fit a query best, ranked by `stage` if there is one. What a stage returns counts once for each tool that
 * is in the index and in scope.
 */
export async function searchTools(
  search: ToolSearch,
  query: string,
  options: SearchOptions,
  stage?: RankingStage,
): Promise<SearchHits> {
  if (stage === undefined) return search.search(query, options);
  const { server, limit } = options;
  const candidates = search.search(query, { server, limit: Math.max(limit, CANDIDATES) });
  const tools = new Map([...search.list(server)].map((tool) => [tool.namespacedName, tool]));
  const ranked = await stage.rank(query, candidates.results, tools.values());
  const hits = new Map<string, SearchHit>();
  for (const { tool, score } of ranked) {
    const listed = tools.get(tool.namespacedName);
    if (listed !== undefined && !hits.has(tool.namespacedName)) {
      hits.set(tool.namespacedName, { tool: listed, score });
    }
  }
  return { results: [...hits.values()].slice(0, limit), total: hits.size };
}
