import { namespacedName, serverModule } from "../protocol/tools/tool-name.ts";
import { LOCAL_SERVER } from "../upstream/local/local-tool.ts";
import type { Problem } from "./configuration-error.ts";
import type { ConfigurationFile } from "./schema.ts";

interface NamedServer {
  readonly name: string;
  readonly module: string;
}

/**
 * What an entry of `direct` stands for, as a pattern over namespaced names: a server's name for all of its tools,
 * `<server>.<tool>` for one of them, or a pattern as it is. `undefined` for a name of no server.
 */
export function directPattern(entry: string, servers: readonly NamedServer[]): string | undefined {
  if (entry.startsWith("mcp__") || entry.startsWith("*")) return entry;
  for (const { name, module } of servers) {
    if (entry === name || entry === module) return namespacedName(module, "*");
    const [prefix] = [name, module].filter((each) => entry.startsWith(`${each}.`));
    if (prefix !== undefined) return namespacedName(module, entry.slice(prefix.length + 1));
  }
  return undefined;
}

/** The entries of `direct` that name no server. Those that name no tool of theirs are found when the tools are known. */
export function findDirectProblems({ direct, servers, tools }: ConfigurationFile): Problem[] {
  const names = [...servers.map(({ name }) => name), ...(tools.local.length > 0 ? [LOCAL_SERVER] : [])];
  const named = names.map((name) => ({ name, module: serverModule(name) }));
  return direct.flatMap((entry, index) => {
    if (directPattern(entry, named) !== undefined) return [];
    const message = `names no server; write a server's name, <server>.<tool> or mcp__<server>__<tool>; servers: ${names.join(", ") || "none"}`;
    return [{ path: ["direct", index], message }];
  });
}
