import { jsonLine } from "../../../base/json/json-line.ts";
import { listUpTo } from "../../../base/text/list-up-to.ts";
import { type ToolCatalog, unknownServer } from "../../../catalog/tool-catalog.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { ListCallableToolsArguments } from "./tool-arguments.ts";

/** More names than these are asked for server by server. */
const MAX_NAMES = 500;
const MAX_COUNTS_CHARS = 8_000;

/**
 * Answers `list_callable_tools`: a JSON array of namespaced names, sorted. Of all servers together it has at most 500; where
 * there are more, the answer is how many each server has.
 */
export function answerListCallableTools(
  { server }: ListCallableToolsArguments,
  catalog: ToolCatalog,
): ToolReply {
  if (server === undefined) {
    const names = catalog.names();
    return textReply(names.length <= MAX_NAMES ? jsonLine(names) : renderCounts(catalog, names.length));
  }
  const scope = catalog.server(server);
  if (scope === undefined) return errorReply(unknownServer(server, catalog));
  return textReply(jsonLine(scope.tools.map(({ namespacedName }) => namespacedName).sort()));
}

function renderCounts({ servers }: ToolCatalog, total: number): string {
  const counts = servers.map(({ module, tools }) => `${module} ${tools.length}`);
  return `${total} tools are too many for one list. Name a \`server\` for its tools, or use search_tools. Tools by server: ${listUpTo(counts, MAX_COUNTS_CHARS)}`;
}
