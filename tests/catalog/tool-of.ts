import type { ServerTools, Tool } from "../../catalog/tool.ts";
import { namespacedName, serverModule } from "../../protocol/tool-names.ts";

/** A tool of a server, without parameters unless told. Its definition's digest is its name. */
export function toolOf(server: string, name: string, more: Partial<Tool> = {}): Tool {
  const module = serverModule(server);
  return {
    namespacedName: namespacedName(module, name),
    server,
    module,
    name,
    identifier: name.replaceAll(/[^A-Za-z0-9]+(.)?/g, (_, letter: string = "") => letter.toUpperCase()),
    inputSchema: { type: "object" },
    definitionDigest: name,
    ...more,
  };
}

/** Servers with these tools, as a catalog holds them. */
export function serversOf(servers: Record<string, readonly Partial<Tool>[]>): ServerTools[] {
  return Object.entries(servers).map(([name, tools]) => ({
    name,
    module: serverModule(name),
    description: undefined,
    implementation: { name, version: "1" },
    tools: tools.map((tool) => toolOf(name, tool.name ?? "a_tool", tool)),
  }));
}
