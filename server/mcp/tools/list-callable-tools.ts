import { jsonLine } from "../../../base/json/json-line.ts";
import type { ToolCatalog } from "../../../catalog/tool-catalog.ts";
import { unknownServer } from "../../../catalog/unknown-names.ts";
import { errorReply, type ToolReply, textReply } from "./reply.ts";
import type { ListCallableToolsArguments } from "./tool-arguments.ts";

/** Answers `list_callable_tools`: a JSON array of namespaced names, sorted. */
export function answerListCallableTools(
  { server }: ListCallableToolsArguments,
  catalog: ToolCatalog,
): ToolReply {
  if (server === undefined) return textReply(jsonLine(catalog.names()));
  const scope = catalog.server(server);
  if (scope === undefined) return errorReply(unknownServer(server, catalog));
  return textReply(jsonLine(scope.tools.map(({ namespacedName }) => namespacedName).sort()));
}
