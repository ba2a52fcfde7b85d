import { oneLine } from "../base/text/one-line.ts";
import { visibleLine } from "../base/text/visible-text.ts";
import { parseNamespacedName, serverModule } from "../protocol/tools/tool-name.ts";
import { similarNames } from "./search/similar-names.ts";
import type { ToolCatalog } from "./tool-catalog.ts";

const MAX_NAMES = 3;
const MAX_SERVERS_NAMED = 50;
const MAX_SERVER_CHARS = 80;
const MAX_TOOL_CHARS = 160;
const MAX_REASON_CHARS = 300;

/** Why a catalog has no such server, for whoever asked for one by name: one line, which names the nearest ones. */
export function unknownServer(name: string, { servers, unlisted }: ToolCatalog): string {
  const shown = oneLine(name, MAX_SERVER_CHARS);
  const why = unlisted.get(serverModule(name));
  if (why !== undefined) return `server '${shown}': ${oneLine(why, MAX_REASON_CHARS)}`;
  const modules = servers.map(({ module }) => module);
  const nearest = askForNearest(name, modules);
  return `there is no server '${shown}'; ${nearest === "" ? knownServers(servers) : nearest}`;
}

/**
 * Why a catalog has no such tool: one line, which names the nearest ones.
 *
 * @param search what finds tools, for whoever asked: the tool of a model, or the command of a person.
 */
export function unknownTool(name: string, catalog: ToolCatalog, search = "search_tools"): string {
  const shown = oneLine(name, MAX_TOOL_CHARS);
  if (catalog.isBlocked(name)) {
    const told = catalog.whyBlocked(name);
    const because = told === undefined ? "" : `: ${oneLine(told, MAX_REASON_CHARS)}`;
    return `'${shown}' is blocked by the configuration of ptc${because}`;
  }
  const server = parseNamespacedName(name)?.module ?? name.split(".")[0] ?? "";
  const why = catalog.unlisted.get(serverModule(server));
  if (why !== undefined) return `there is no tool '${shown}' yet: ${oneLine(why, MAX_REASON_CHARS)}`;
  const nearest = askForNearest(name, catalog.names());
  return `there is no tool '${shown}'; ${nearest === "" ? `find one with ${search}` : nearest}`;
}

/** Which servers there are to choose from. */
export function knownServers(servers: ToolCatalog["servers"]): string {
  const modules = servers.slice(0, MAX_SERVERS_NAMED).map(({ module }) => module);
  return modules.length === 0 ? "no servers are known yet" : `servers are ${modules.join(", ")}`;
}

/** A question with the names that are nearest to an unknown one; empty when none is near. */
function askForNearest(name: string, candidates: readonly string[]): string {
  const names = similarNames(name, candidates, MAX_NAMES);
  return names.length === 0 ? "" : `did you mean ${names.map(visibleLine).join(" or ")}?`;
}
