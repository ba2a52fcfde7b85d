import { unknownServer } from "./hints.ts";
import type { CatalogView } from "./live-catalog.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { ListCallableToolsArguments } from "./tool-arguments.ts";

/** Answers `list_callable_tools`: a JSON array of namespaced names, sorted. */
export function listCallableTools({ server }: ListCallableToolsArguments, view: CatalogView): ToolReply {
  const { directory } = view;
  if (server === undefined) return textReply(JSON.stringify(directory.names()));
  const scope = directory.server(server);
  if (scope === undefined) return errorReply(unknownServer(server, view));
  return textReply(JSON.stringify(scope.tools.map(({ namespacedName }) => namespacedName).sort()));
}
