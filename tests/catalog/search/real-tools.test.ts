import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type { SearchableTool } from "../../../catalog/search/searchable-text.ts";
import { buildIndex } from "./search-sets.ts";

/** A file for each of many public servers, with the tools that it lists. */
const FOLDER = process.env.PTC_TOOL_LISTS ?? resolve(import.meta.dirname, "../../../../shared/data/tools");
const present = existsSync(FOLDER);

interface Listed {
  name: string;
  description?: string;
  inputSchema?: object;
}

function readTools(): SearchableTool[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".json"))
    .flatMap((file) => {
      const { server, tools } = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as {
        server: string;
        tools: Listed[];
      };
      const module = server.replace(/\W/g, "_");
      return tools.map((tool) => {
        const namespacedName = `mcp__${module}__${tool.name}`;
        return { ...tool, server, module, namespacedName, definitionDigest: namespacedName };
      });
    }) as unknown as SearchableTool[];
}

describe.skipIf(!present)(
  `a search over public servers${present ? "" : ` (skipped: no folder ${FOLDER})`}`,
  () => {
    it.each([["list commits of a git repository", "git_log"]])("finds for '%s' %s among the first three", (query, name) => {
      const { results } = buildIndex(readTools()).search(query, { limit: 3 });
      expect(results.map(({ tool }) => tool.name)).toContain(name);
    });
  },
);
