import { oneLine, visibleLine } from "../base/visible-text.ts";
import { parseNamespacedName, serverModule } from "../protocol/tool-names.ts";
import { similarNames } from "./search/similar-names.ts";
import { type RankingStage, ToolIndex } from "./search/tool-index.ts";
import type { ServerTools, Tool } from "./tool.ts";

/** Facts about servers besides the tools in the catalog. */
interface CatalogContext {
  /** Modules of all servers in the configuration. By default, the modules of the catalog. */
  configured?: readonly string[] | undefined;
  /** Configured servers whose tools are unknown, by module, with the reason. */
  unlisted?: ReadonlyMap<string, string> | undefined;
  /** The index of the preceding catalog, so that only changes are indexed. */
  index?: ToolIndex | undefined;
  /** Ranks the results of the search by words, if present. */
  ranking?: RankingStage | undefined;
  /** Whether it may be known of a server whose tools are unknown. By default it may. */
  isKnown?: ((module: string) => boolean) | undefined;
}

/** How a view differs from its catalog besides the tools that it has. */
interface ViewOptions {
  /** The index of the preceding view. */
  readonly index?: ToolIndex | undefined;
  /** Returns why the user may not see a tool, if that may be told. */
  readonly whyHidden?: ((tool: Tool) => string | undefined) | undefined;
  /**
   * Whether the user may know that there is such a tool, or a server of this module. What they may not know of is as what does not
   * exist. By default they may know of everything.
   */
  readonly isKnown?: ((module: string, tool?: Tool) => boolean) | undefined;
}

/** The result of a search in a catalog. */
export interface FoundTools {
  /** Best first. */
  readonly tools: readonly Tool[];
  /** The number of matching tools. More than `tools.length` means that some are left out. */
  readonly total: number;
  /** Set if even the best tool hardly matches the query. */
  readonly fitsPoorly?: boolean;
  /** Why the tools are ranked only by words, or by less than was configured, in words for people. */
  readonly problem?: string;
}

const NONE: ReadonlyMap<string, string> = new Map();

/**
 * The tools of the servers in use at one moment, or a view of the tools among them that a user may see. A view has the same
 * queries, and answers as if there were no other tools. When servers list something else, ptc makes a new catalog. An existing
 * catalog keeps its tools, so that no answer mixes two states.
 */
export class ToolCatalog {
  readonly servers: readonly ServerTools[];
  /** Modules of all servers in the configuration, including servers with unknown tools. */
  readonly configured: readonly string[];
  readonly #context: CatalogContext;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #index: ToolIndex;
  /** The names that this view hides, each with the reason if that may be told. */
  readonly #hidden: ReadonlyMap<string, string | undefined>;

  constructor(
    servers: readonly ServerTools[],
    context: CatalogContext = {},
    hidden: ReadonlyMap<string, string | undefined> = new Map(),
  ) {
    this.servers = servers;
    this.configured = context.configured ?? servers.map(({ module }) => module);
    this.#context = context;
    this.#tools = new Map(servers.flatMap(({ tools }) => tools.map((tool) => [tool.namespacedName, tool])));
    this.#index = context.index ?? new ToolIndex();
    this.#hidden = hidden;
  }

  /**
   * A view of this catalog with the tools that a user may see. It does not share the index, because the rarity of words, and
   * therefore the ranking, differs between views.
   */
  visibleTo(
    isVisible: (tool: Tool) => boolean,
    { index, whyHidden, isKnown = () => true }: ViewOptions = {},
  ): ToolCatalog {
    const hidden = new Map(this.#hidden);
    const unknown = new Set(
      this.servers
        .filter(({ module, tools }) => tools.length > 0 && !tools.some((tool) => isKnown(module, tool)))
        .map(({ module }) => module),
    );
    const before = this.#context.isKnown ?? (() => true);
    const mayKnow = (module: string) => !unknown.has(module) && before(module) && isKnown(module);
    const servers = this.servers
      .filter(({ module }) => mayKnow(module))
      .map((server) => ({
        ...server,
        tools: server.tools.filter((tool) => {
          if (isVisible(tool)) return true;
          if (isKnown(server.module, tool)) hidden.set(tool.namespacedName, whyHidden?.(tool));
          return false;
        }),
      }));
    const configured = this.configured.filter(mayKnow);
    return new ToolCatalog(servers, { ...this.#context, configured, index, isKnown: mayKnow }, hidden);
  }

  /** Configured servers whose tools are unknown, by module, with the current reason. */
  get unlisted(): ReadonlyMap<string, string> {
    const { unlisted = NONE, isKnown } = this.#context;
    // The reasons change while the catalog is used.
    return isKnown === undefined ? unlisted : new Map([...unlisted].filter(([module]) => isKnown(module)));
  }

  /** The tool with exactly this namespaced name. */
  get(namespacedName: string): Tool | undefined {
    return this.#tools.get(namespacedName);
  }

  /**
   * Finds a tool by its namespaced name, or by another name in programs (`<module>.<function>`, `<module>.<tool>`) or at its
   * server, if only one tool has that name. Also finds a name with invisible characters by its visible form.
   */
  find(name: string): Tool | undefined {
    const exact = this.#tools.get(name);
    if (exact !== undefined) return exact;
    const { module, tool: own = name } = parseNamespacedName(name) ?? {};
    const isMeant = (tool: Tool) =>
      module === undefined
        ? goesBy(tool, own)
        : [tool.module, tool.server].includes(module) && ownNames(tool).includes(own);
    const tools = [...this.#tools.values()];
    const alike = tools.filter((tool) => isMeant(tool) || visibleLine(tool.namespacedName) === name);
    return alike.length === 1 ? alike[0] : undefined;
  }

  /** Whether this view hides a tool with this namespaced name. */
  isBlocked(namespacedName: string): boolean {
    return this.#hidden.has(namespacedName);
  }

  /** Why this view hides a tool, in one line, if that may be told. */
  whyBlocked(namespacedName: string): string | undefined {
    return this.#hidden.get(namespacedName);
  }

  /** All namespaced names, sorted. */
  names(): string[] {
    return [...this.#tools.keys()].sort();
  }

  /** Finds a server by its configured name or its module. */
  server(name: string): ServerTools | undefined {
    return this.servers.find((server) => server.name === name || server.module === name);
  }

  /** The tools that fit a query best. @param options `server` is the module to search. */
  async search(query: string, options: { server?: string | undefined; limit: number }): Promise<FoundTools> {
    const { ranking } = this.#context;
    const { results, ...found } = await this.#index.search(this.servers, query, options, ranking);
    const tools = results.flatMap(({ tool }) => this.#tools.get(tool.namespacedName) ?? []);
    return { tools, ...found };
  }
}

function goesBy(tool: Tool, called: string): boolean {
  const { module, server } = tool;
  return ownNames(tool).some((own) => [own, `${module}.${own}`, `${server}.${own}`].includes(called));
}

/** The names of a tool within its server: its name, its function, and its name in the form of code. */
function ownNames({ name, identifier }: Tool): string[] {
  return [name, identifier, name.replace(/[^A-Za-z0-9_$]/g, "_")];
}

const MAX_NAMES = 3;
const MAX_SERVERS_NAMED = 50;
const MAX_SERVER_CHARS = 80;
const MAX_TOOL_CHARS = 160;
const MAX_REASON_CHARS = 300;

/** Why a catalog has no server with this name: one line that names the nearest ones. */
export function unknownServer(name: string, { servers, unlisted }: ToolCatalog): string {
  const shown = oneLine(name, MAX_SERVER_CHARS);
  const why = unlisted.get(serverModule(name));
  if (why !== undefined) return `there is no server '${shown}' yet: ${oneLine(why, MAX_REASON_CHARS)}`;
  const modules = servers.map(({ module }) => module);
  const nearest = askForNearest(name, modules);
  return `there is no server '${shown}'; ${nearest === "" ? knownServers(servers) : nearest}`;
}

/**
 * Why a catalog has no such tool: one line that names the nearest ones.
 *
 * @param search the caller's way to find tools: a model's tool, or a person's command.
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
  const own = parseNamespacedName(name)?.tool ?? name.split(".").at(-1) ?? name;
  const same = catalog.servers.flatMap(({ tools }) => tools).filter((tool) => ownNames(tool).includes(own));
  const names = same.slice(0, MAX_NAMES).map(({ namespacedName }) => visibleLine(namespacedName));
  const nearest =
    names.length > 0 ? `did you mean ${names.join(" or ")}?` : askForNearest(name, catalog.names());
  return `there is no tool '${shown}'; ${nearest === "" ? `find one with ${search}` : nearest}`;
}

/** Lists the known servers. */
export function knownServers(servers: ToolCatalog["servers"]): string {
  const modules = servers.slice(0, MAX_SERVERS_NAMED).map(({ module }) => module);
  return modules.length === 0 ? "no servers are known yet" : `servers are ${modules.join(", ")}`;
}

/** A question with the names nearest to an unknown one. Empty if none is near. */
function askForNearest(name: string, candidates: readonly string[]): string {
  const names = similarNames(name, candidates, MAX_NAMES);
  return names.length === 0 ? "" : `did you mean ${names.map(visibleLine).join(" or ")}?`;
}
