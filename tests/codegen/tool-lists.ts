import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { ServerListing } from "../../catalog/parse-tool.ts";

/** What real servers answer to `tools/list`, one file each: `{server, serverInfo, protocolVersion, tools}`. */
export const toolListsFolder =
  process.env.PTC_TOOL_LISTS ?? resolve(import.meta.dirname, "../../../shared/data/tools");

export const toolListsPresent = existsSync(toolListsFolder);

/** To be put into the name of tests that need them. */
export const whyToolListsAreSkipped = toolListsPresent ? "" : ` (skipped: no folder ${toolListsFolder})`;

export const toolLists = toolListsPresent ? readToolLists(toolListsFolder) : [];

/** The lists in a folder, one file each: `{server, serverInfo, protocolVersion, tools}`. */
function readToolLists(folder: string): ServerListing[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
  return files.map((file) => {
    const list = JSON.parse(readFileSync(join(folder, file), "utf8"));
    const { server: name, serverInfo: implementation, protocolVersion, tools } = list;
    return { name, implementation, protocolVersion, tools };
  });
}
