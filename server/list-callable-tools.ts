import { unknownServer } from "./hints.ts";
import type { CatalogView } from "./live-catalog.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { ListCallableToolsArguments } from "./tool-arguments.ts";

/** Answers `list_callable_tools`: a JSON array of namespaced names, sorted. */
export function listCallableTools(
  { server }: ListCallableToolsArguments,
  { directory, unlisted }: CatalogView,
): ToolReply {
  if (server === undefined) return textReply(JSON.stringify(directory.names()));
  const scope = directory.server(server);
  if (scope === undefined) {
    const why = unlisted.get(server);
    return errorReply(why === undefined ? unknownServer(server, directory) : `server '${server}': ${why}`);
  }
  return textReply(JSON.stringify(scope.tools.map(({ namespacedName }) => namespacedName).sort()));
}
