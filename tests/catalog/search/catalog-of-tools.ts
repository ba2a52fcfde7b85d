import type { SearchableTool } from "../../../catalog/search/searchable-text.ts";
import { ToolSearch } from "../../../catalog/search/tool-search.ts";

/** A tool of a server, without parameters unless told. */
export function tool(server: string, name: string, more: Partial<SearchableTool> = {}): SearchableTool {
  return {
    server,
    name,
    namespacedName: `mcp__${server}__${name}`,
    inputSchema: { type: "object" },
    definitionDigest: `sha256:${server}.${name}`,
    ...more,
  };
}

/** An index of tools that are given server by server. */
export function indexOf(...tools: readonly SearchableTool[]): ToolSearch {
  const search = new ToolSearch();
  for (const server of new Set(tools.map((each) => each.server))) {
    search.setServer(
      server,
      tools.filter((each) => each.server === server),
    );
  }
  return search;
}

/** The namespaced names of what a query finds, best first. */
export function found(
  search: ToolSearch,
  query: string,
  options: { server?: string; limit?: number } = {},
): string[] {
  const { results } = search.search(query, { limit: 10, ...options });
  return results.map(({ tool: { namespacedName } }) => namespacedName);
}
