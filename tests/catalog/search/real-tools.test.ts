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
    const QUERY = "list commits of a git repository";

    it("finds the log of a git server among its first three tools", () => {
      const tools = readTools().filter(({ server }) =>
        /^(?:git-cyanheads|filesystem|memory|everything)$/.test(server),
      );
      const { results } = buildIndex(tools).search(QUERY, { limit: 3 });
      expect(results.map(({ tool }) => tool.name)).toContain("git_log");
    });

    it("finds the log of a git server after those of hosts of git alone, and before what changes a repository", () => {
      const { results } = buildIndex(readTools()).search(QUERY, { limit: 30 });
      const names = results.map(({ tool }) => tool.name);
      expect(names.slice(0, 2)).toEqual(["list_commits", "list_commits"]);
      expect(names.slice(0, 4)).toContain("git_log");
      for (const changing of ["git_cherry_pick", "git_rebase", "git_commit"])
        expect(names.slice(0, names.indexOf("git_log"))).not.toContain(changing);
    });
  },
);
