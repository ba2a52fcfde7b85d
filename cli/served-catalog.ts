import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { UpstreamListing } from "../broker/upstream.ts";
import { searchTools } from "../catalog/search/search-tools.ts";
import { ToolSearch } from "../catalog/search/tool-search.ts";
import type { DirectoryServer } from "../catalog/tool-directory.ts";
import { serverModule } from "../protocol/tool-name.ts";
import type { CatalogView, LiveCatalog } from "../server/live-catalog.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { generatedDirectory } from "./generated-modules.ts";
import { regenerate } from "./regenerate.ts";
import { loadToolSet, type ToolSet } from "./tool-set.ts";

export interface ServedTools extends CatalogView, ToolSet {}

export interface ServedCatalogOptions {
  configuration: Configuration;
  onWarning: (message: string) => void;
}

/**
 * The catalog of a ptc that serves: read from disk, and read again when it was written there, by this process because a
 * server listed something else, or by another. Search is indexed when it is first used, and then server by server.
 */
export class ServedCatalog implements LiveCatalog {
  readonly #options: ServedCatalogOptions;
  readonly #search = new ToolSearch();
  /** Servers as they were indexed. */
  readonly #indexed = new Map<string, DirectoryServer>();
  readonly #unlisted = new Map<string, string>();
  readonly #listeners = new Set<() => void>();
  #tools: ToolSet | undefined;
  #version = "";
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: ServedCatalogOptions) {
    this.#options = options;
  }

  /** @throws CatalogError when the catalog on disk cannot be read. */
  async current(): Promise<ServedTools> {
    const tools = await this.#inTurn(() => this.#load());
    return {
      ...tools,
      configured: this.#options.configuration.servers.map(({ module }) => module),
      unlisted: this.#unlisted,
      search: async (query, scope, limit) => {
        this.#index(tools);
        return searchTools(this.#search, query, { limit, server: scope });
      },
    };
  }

  onServersChanged(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Takes in what a server has just listed, and writes new modules where that is not what they were made from. */
  async absorb(name: string, listing: UpstreamListing): Promise<void> {
    const { configuration, onWarning } = this.#options;
    const server = configuration.servers.find((each) => each.name === name);
    if (server === undefined) return;
    this.#unlisted.delete(serverModule(name));
    await this.#inTurn(async () => {
      try {
        if (await regenerate(configuration, server, listing)) await this.#load();
      } catch (error) {
        onWarning(`the modules of server '${name}' could not be brought up to date: ${messageOf(error)}`);
      }
    });
  }

  /** Notes that the tools of a server are not known, and why. */
  miss(name: string, why: string): void {
    this.#unlisted.set(serverModule(name), why);
  }

  /** The configured servers whose tools are not in the catalog yet. */
  async unknownServers(): Promise<string[]> {
    const { stored } = await this.current();
    const known = new Set(stored?.catalog.servers.map(({ name }) => name));
    return this.#options.configuration.servers.map(({ name }) => name).filter((name) => !known.has(name));
  }

  async #load(): Promise<ToolSet> {
    const { configuration } = this.#options;
    const version = await versionOf(join(generatedDirectory(configuration), "ptc.lock.json"));
    if (this.#tools !== undefined && version === this.#version) return this.#tools;
    const before = this.#tools?.directory.servers.map(({ module }) => module).join();
    const tools = await loadToolSet(configuration);
    this.#tools = tools;
    this.#version = version;
    const after = tools.directory.servers.map(({ module }) => module).join();
    if (before !== undefined && before !== after) for (const listener of this.#listeners) listener();
    return tools;
  }

  #index({ directory }: ToolSet): void {
    const present = new Set(directory.servers.map(({ module }) => module));
    for (const module of this.#indexed.keys()) {
      if (present.has(module)) continue;
      this.#search.removeServer(module);
      this.#indexed.delete(module);
    }
    for (const server of directory.servers) {
      if (this.#indexed.get(server.module) === server) continue;
      this.#search.setServer(server.module, server.tools);
      this.#indexed.set(server.module, server);
    }
  }

  /** One at a time: whoever reads meanwhile waits for what is being written. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#work.then(work);
    this.#work = turn.catch(() => {});
    return turn;
  }
}

/** Changes whenever a file is written anew. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs } = await stat(path);
    return `${ino} ${size} ${mtimeMs}`;
  } catch {
    return "none";
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
