import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { SearchableTool } from "../../../catalog/search/searchable-text.ts";
import { type SearchHits, ToolSearch } from "../../../catalog/search/tool-search.ts";

/** A folder for each set of queries and the tools that answer them. */
export const searchSetsFolder =
  process.env.PTC_SEARCH_SETS ?? resolve(import.meta.dirname, "../../../../shared/data/search");

/** One set of queries with the tools that answer each. */
export interface SearchSet {
  name: string;
  /** Least nDCG@10 that is still good. */
  target: number;
  tools: readonly SearchableTool[];
  queries: readonly { query: string; gold: readonly string[] }[];
}

const TARGETS = { metatool: 0.57, "metatool-multi": 0.66, sealtools: 0.89 };

/** The sets in a folder, a folder each: `tools.jsonl` and `queries.jsonl`. Those that are not there are left out. */
export function readSearchSets(folder: string): SearchSet[] {
  return Object.entries(TARGETS)
    .filter(([name]) => existsSync(join(folder, name)))
    .map(([name, target]) => ({
      name,
      target,
      tools: readLines(join(folder, name, "tools.jsonl")).map((tool) => ({
        ...tool,
        namespacedName: tool.id,
        definitionDigest: tool.id,
      })),
      queries: readLines(join(folder, name, "queries.jsonl")),
    }));
}

function readLines(file: string) {
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** An index of tools, server by server. */
export function buildIndex(tools: readonly SearchableTool[]): ToolSearch {
  const byServer = new Map<string, SearchableTool[]>();
  for (const tool of tools) {
    const ofServer = byServer.get(tool.server);
    if (ofServer === undefined) byServer.set(tool.server, [tool]);
    else ofServer.push(tool);
  }
  const search = new ToolSearch();
  for (const [server, ofServer] of byServer) search.setServer(server, ofServer);
  return search;
}

/** Mean nDCG@10 over a set's queries: 1 when the tools that answer a query are its first results. */
export function meanNdcg({ tools, queries }: SearchSet): number {
  const search = buildIndex(tools);
  const gains = queries.map(({ query, gold }) => ndcg(search.search(query, { limit: 10 }), gold));
  return gains.reduce((sum, gain) => sum + gain, 0) / queries.length;
}

/** nDCG@10 of what a search has found. @param gold the names of the tools that answer the query. */
export function ndcg({ results }: SearchHits, gold: readonly string[]): number {
  const found = results.slice(0, 10).map(({ tool }) => tool.namespacedName);
  const gain = discounted(found.map((name) => gold.includes(name)));
  return gain / discounted(gold.slice(0, 10).map(() => true));
}

function discounted(relevant: readonly boolean[]): number {
  return relevant.reduce((sum, isRelevant, rank) => sum + (isRelevant ? 1 / Math.log2(rank + 2) : 0), 0);
}
