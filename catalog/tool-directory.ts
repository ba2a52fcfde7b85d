import { namespacedName, parseNamespacedName } from "../protocol/tool-name.ts";
import type { CatalogServer, CatalogTool } from "./catalog.ts";

/** A tool that programs may call, as it is found and read about. */
export interface DirectoryTool extends CatalogTool {
  /** `mcp__<server_module>__<tool>` */
  readonly namespacedName: string;
  /** Configured name of its server. */
  readonly server: string;
  readonly module: string;
}

export interface DirectoryServer {
  readonly name: string;
  readonly module: string;
  readonly description: string | undefined;
  /** Callable tools, by namespaced name. */
  readonly tools: readonly DirectoryTool[];
}

/** The callable tools of the servers in use, at one moment. */
export class ToolDirectory {
  /** By name. */
  readonly servers: readonly DirectoryServer[];
  readonly #tools: ReadonlyMap<string, DirectoryTool>;
  readonly #blocked: ReadonlySet<string>;

  constructor(
    servers: readonly CatalogServer[],
    isCallable: (tool: { namespacedName: string; destructive: boolean }) => boolean = () => true,
  ) {
    const all = servers.map((server) => describeServer(server));
    this.servers = all.map((server) => ({ ...server, tools: server.tools.filter(canBeCalled(isCallable)) }));
    this.#tools = new Map(
      this.servers.flatMap(({ tools }) => tools.map((tool) => [tool.namespacedName, tool])),
    );
    this.#blocked = new Set(
      all
        .flatMap(({ tools }) => tools.map((tool) => tool.namespacedName))
        .filter((name) => !this.#tools.has(name)),
    );
  }

  /** Whether there is such a tool, which programs may not call. */
  isBlocked(namespacedName: string): boolean {
    return this.#blocked.has(namespacedName);
  }

  /** All namespaced names, sorted. */
  names(): string[] {
    return [...this.#tools.keys()].sort();
  }

  /**
   * Finds a tool by its namespaced name, or by what else a program calls it (`<module>.<function>`, `<module>.<tool>`) or its
   * server calls it, where only one tool is called so.
   */
  find(name: string): DirectoryTool | undefined {
    const exact = this.#tools.get(name);
    if (exact !== undefined) return exact;
    const { module, tool: own = name } = parseNamespacedName(name) ?? {};
    const alike = [...this.#tools.values()].filter((tool) =>
      module === undefined
        ? goesBy(tool, own)
        : [tool.module, tool.server].includes(module) && [tool.name, tool.identifier].includes(own),
    );
    return alike.length === 1 ? alike[0] : undefined;
  }

  /** Finds a server by its configured name or its module. */
  server(name: string): DirectoryServer | undefined {
    return this.servers.find((server) => server.name === name || server.module === name);
  }
}

function describeServer({ name, module, description, tools }: CatalogServer): DirectoryServer {
  return {
    name,
    module,
    description,
    tools: tools.map((tool) => ({
      ...tool,
      namespacedName: namespacedName(module, tool.name),
      server: name,
      module,
    })),
  };
}

function canBeCalled(isCallable: (tool: { namespacedName: string; destructive: boolean }) => boolean) {
  return ({ namespacedName, annotations }: DirectoryTool) =>
    isCallable({ namespacedName, destructive: annotations?.destructiveHint === true });
}

function goesBy({ name, identifier, module, server }: DirectoryTool, called: string): boolean {
  return [name, identifier].some((own) => [own, `${module}.${own}`, `${server}.${own}`].includes(called));
}
