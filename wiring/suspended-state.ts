import { RunState } from "../broker/policy/run-history.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { KeptCall } from "../execution/suspension/kept-calls.ts";
import { parseNamespacedName } from "../protocol/tool-names.ts";

/** What a suspended run had done, as decisions about its further calls see it. */
export function stateOf(
  calls: readonly KeptCall[],
  tools: Pick<ToolCatalog, "get">,
  { servers }: Pick<Configuration, "servers">,
): RunState {
  const state = new RunState();
  for (const [index, { tool: name, outcome }] of calls.entries()) {
    // What was read of a tool that there is no more is in the run all the same.
    const tool = tools.get(name) ?? formerTool(name, servers);
    if (outcome === undefined) state.begin(tool, index + 1);
    else state.replay(tool, { seq: index + 1, decision: outcome.decision });
  }
  return state;
}

function formerTool(namespacedName: string, servers: Configuration["servers"]) {
  const { module = "", tool: name = namespacedName } = parseNamespacedName(namespacedName) ?? {};
  const server = servers.find((each) => each.module === module)?.name ?? module;
  return { namespacedName, server, name };
}
