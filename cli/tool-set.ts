import { decide, type Policy } from "../broker/policy.ts";
import type { KnownTool, ToolTable } from "../broker/tool-table.ts";
import { readCatalog } from "../catalog/catalog-file.ts";
import type { StoredCatalog } from "../catalog/stored-catalog.ts";
import { ToolDirectory } from "../catalog/tool-directory.ts";
import { namespacedName } from "../protocol/tool-name.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { unmatchedPatterns } from "./configuration/unmatched-patterns.ts";
import { UsageError } from "./exit-code.ts";
import { GeneratedModules, generatedDirectory } from "./generated-modules.ts";

/** What programs find at one moment: the generated tools of the servers that are still configured. */
export interface ToolSet {
  readonly stored: StoredCatalog | undefined;
  readonly tools: ToolTable;
  readonly modules: GeneratedModules;
  /** The tools that the policy lets programs call. */
  readonly directory: ToolDirectory;
}

/** @throws CatalogError when what was generated cannot be read. */
export async function loadToolSet(configuration: Configuration): Promise<ToolSet> {
  const folder = generatedDirectory(configuration);
  const stored = await readCatalog(folder);
  const configured = new Set(configuration.servers.map(({ name }) => name));
  const servers = (stored?.catalog.servers ?? []).filter(({ name }) => configured.has(name));
  const policy = buildPolicy(configuration);
  const tools = new Map<string, KnownTool>();
  for (const server of servers) {
    for (const tool of server.tools) {
      const name = namespacedName(server.module, tool.name);
      tools.set(name, {
        namespacedName: name,
        server: server.name,
        name: tool.name,
        definitionDigest: stored?.lock.servers.get(server.name)?.tools.get(tool.name)?.sha256 ?? "",
        inputSchema: tool.inputSchema,
        outputSchema: tool.outputSchema,
        destructive: tool.annotations?.destructiveHint === true,
      });
    }
  }
  const directory = new ToolDirectory(servers, (tool) => decide(policy, tool) !== "unavailable");
  const callable = new Set(directory.names());
  const modules = new GeneratedModules(
    folder,
    servers.map(({ module }) => module),
    (name) => callable.has(name),
  );
  return { stored, tools, modules, directory };
}

export function buildPolicy({ tools, approvals }: Configuration): Policy {
  return { allow: tools.allow, block: tools.block, ask: approvals.ask, neverAsk: approvals.allow };
}

/** @throws UsageError for an entry of `tools` or `approvals` that names no tool of any server. */
export function refuseUnmatchedPatterns(configuration: Configuration, { stored, tools }: ToolSet): void {
  const generated = new Set(stored?.catalog.servers.map((server) => server.name));
  const unlisted = configuration.servers
    .filter((server) => !generated.has(server.name))
    .map((server) => server.module);
  const [first] = unmatchedPatterns(configuration, [...tools.keys()], unlisted);
  if (first !== undefined) throw new UsageError(first.message);
}
