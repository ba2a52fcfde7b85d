/** What the commands `list`, `search` and `inspect` show of the tools that programs of the local user can call. */
import { countTools, renderOffer } from "../catalog/parse-tool.ts";
import type { ServerTools } from "../catalog/tool.ts";
import { type ToolCatalog, unknownServer, unknownTool } from "../catalog/tool-catalog.ts";
import { describeForPrograms } from "../codegen/describe-tool.ts";
import type { LanguagePrinter } from "../codegen/language-printer.ts";
import type { Configuration } from "../configuration/configuration.ts";
import type { FindOptions } from "../configuration/configuration-paths.ts";
import { describeOffServers } from "../configuration/configured-servers.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { languageNamed, loadPrinters, pickPrinter, whyNotOn } from "../languages/languages.ts";
import { chooseDirectTools, type DirectTool } from "../tools/direct-tools.ts";
import { loadProgramTools, type ProgramTools } from "../tools/program-tools.ts";
import { rankingOfCommands } from "../tools/search/open-ranking.ts";
import { LOCAL_USER } from "./local-user.ts";
import { Refusal } from "./refusal.ts";

/** A server and its tools, as lists show them. */
export interface ListedServer {
  name: string;
  module: string;
  description: string | undefined;
  /** What it offers: `9 tools, resources, prompts`. */
  offer: string;
  /** Its tools that models have without a search, all of them or some, and their approximate cost. */
  direct: { tools: number; isEach: boolean; tokens: number };
  tools: readonly ListedTool[];
}

interface ListedTool {
  /** The namespaced name. */
  name: string;
  /** What programs call it. */
  functionName: string;
  description: string | undefined;
  /** Its name for models that have it without a search. */
  direct: string | undefined;
}

/** A server that is off, with the reason. */
export interface OffServer {
  name: string;
  module: string;
  description: string | undefined;
  off: string;
}

/** One tool whole. */
export interface InspectedTool {
  name: string;
  /** The hints of its server that hold. */
  hints: readonly string[];
  importLine: string;
  signature: string;
  /** Whether nothing is known of what it returns. */
  isUnknownResult: boolean;
  /** The same and its schemas, for programs that read it. */
  described(): Promise<Record<string, unknown>>;
}

export interface FoundTools {
  tools: readonly { name: string; identifier: string; server: string; description: string | undefined }[];
  total: number;
  /** Whether even the best fit poorly. */
  fitsPoorly: boolean;
  /** Why the tools were found by words alone, if they were. */
  problem: string | undefined;
  /** Whether there are no tools at all. */
  isEmpty: boolean;
  /** Servers that are off, in lines for people. */
  unsearched: readonly string[];
}

/** Where a command has its tools from, if a background host runs it. */
export interface ToolHost {
  accept(configuration: Configuration): void;
  host: { currentTools(): Promise<ProgramTools> };
}

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

export class ShownTools {
  /** The servers that are off. */
  readonly off: readonly OffServer[];
  readonly #configuration: Configuration;
  readonly #env: FindOptions["env"];
  readonly #shared: ToolHost | undefined;
  #catalog: Promise<ToolCatalog> | undefined;

  private constructor(configuration: Configuration, env: FindOptions["env"], shared: ToolHost | undefined) {
    this.#configuration = configuration;
    this.#env = env;
    this.#shared = shared;
    this.off = configuration.servers.flatMap(({ name, module, description, off }) =>
      off === undefined ? [] : [{ name, module, description, off }],
    );
  }

  /** @throws ConfigurationError */
  static async open(found: FindOptions, shared: ToolHost | undefined): Promise<ShownTools> {
    return new ShownTools(await loadConfiguration(found), found.env, shared);
  }

  /** Whether servers are configured that are on. */
  get isConfigured(): boolean {
    return this.#configuration.servers.length > this.off.length;
  }

  /** The servers with their tools; only one if it is named. @throws Refusal if there is no such server, CatalogError */
  async list(name: string | undefined): Promise<ListedServer[]> {
    const catalog = await this.#tools();
    const servers = name === undefined ? catalog.servers : [requireServer(name, catalog)];
    const { tools } = chooseDirectTools(catalog, this.#configuration);
    const direct = new Map(tools.map((each) => [each.tool.namespacedName, each]));
    const [printer] = await loadPrinters(this.#configuration.languages);
    return servers.map((server) => listServer(server, printer, direct));
  }

  /** @param options `server` is the only one that is searched. @throws Refusal if there is no such server, CatalogError */
  async search(query: string, options: { server: string | undefined; limit: number }): Promise<FoundTools> {
    const catalog = await this.#tools();
    const scope = options.server === undefined ? undefined : requireServer(options.server, catalog);
    const found = await catalog.search(query, { limit: options.limit, server: scope?.module });
    return {
      tools: found.tools.map(({ namespacedName: name, identifier, server, description }) => ({
        name,
        identifier,
        server,
        description,
      })),
      total: found.total,
      fitsPoorly: found.fitsPoorly === true,
      problem: found.problem,
      isEmpty: catalog.servers.length === 0,
      unsearched: describeOffServers(this.#configuration),
    };
  }

  /** @param language one of `languages`; by default the first. @throws Refusal if there is no such tool or language, CatalogError */
  async inspect(name: string, language: string | undefined): Promise<InspectedTool> {
    const { languages } = this.#configuration;
    const named = language === undefined ? undefined : languageNamed(language);
    const off = language && whyNotOn(named ?? language, languages);
    if (off) throw new Refusal(`--language: ${off}`);
    const printer = pickPrinter(await loadPrinters(languages), named);
    const catalog = await this.#tools();
    const tool = catalog.find(name);
    if (tool === undefined) throw new Refusal(unknownTool(name, catalog, "`ptc search`"));
    return {
      name: tool.namespacedName,
      hints: HINTS.filter((hint) => tool.annotations?.[hint] === true),
      importLine: printer.importLine(tool.module),
      signature: await printer.signature(tool, "full"),
      isUnknownResult: tool.outputSchema === undefined && tool.learned === undefined,
      described: () => describeForPrograms(tool, printer),
    };
  }

  #tools(): Promise<ToolCatalog> {
    this.#catalog ??= this.#load();
    return this.#catalog;
  }

  async #load(): Promise<ToolCatalog> {
    const configuration = this.#configuration;
    this.#shared?.accept(configuration);
    const ranking = rankingOfCommands(configuration, this.#env);
    const tools =
      this.#shared === undefined
        ? await loadProgramTools(configuration, undefined, { ranking })
        : await this.#shared.host.currentTools();
    return tools.callableFor(LOCAL_USER);
  }
}

function requireServer(name: string, catalog: ToolCatalog): ServerTools {
  const server = catalog.server(name);
  if (server === undefined) throw new Refusal(unknownServer(name, catalog));
  return server;
}

function listServer(
  { name, module, description, tools }: ServerTools,
  printer: LanguagePrinter,
  direct: ReadonlyMap<string, DirectTool>,
): ListedServer {
  const own = tools.flatMap((tool) => direct.get(tool.namespacedName) ?? []);
  return {
    name,
    module,
    description,
    offer: renderOffer(tools),
    direct: {
      tools: own.length,
      isEach: own.length === countTools(tools),
      tokens: own.reduce((sum, each) => sum + each.tokens, 0),
    },
    tools: tools.map((tool) => ({
      name: tool.namespacedName,
      functionName: printer.functionName(tool),
      description: tool.description ?? tool.title,
      direct: direct.get(tool.namespacedName)?.definition.name,
    })),
  };
}
