import { join } from "node:path";
import type { UpstreamListing } from "../broker/upstream.ts";
import type { LockedServer } from "../catalog/lockfile.ts";
import { searchTools } from "../catalog/search/search-tools.ts";
import { ToolSearch } from "../catalog/search/tool-search.ts";
import type { DirectoryServer } from "../catalog/tool-directory.ts";
import { serverModule } from "../protocol/tool-name.ts";
import type { CatalogView, LiveCatalog } from "../server/live-catalog.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { fileVersion } from "./file-version.ts";
import { generatedDirectory } from "./generated-modules.ts";
import { regenerate, repairGenerated } from "./regenerate.ts";
import { loadToolSet, type ToolSet } from "./tool-set.ts";
import { WrittenModules } from "./written-modules.ts";

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
  #version: string | undefined;
  readonly #modules: WrittenModules;
  /** What is to be taken in, by server: of what comes meanwhile, only the last. */
  readonly #arrived = new Map<string, UpstreamListing>();
  readonly #superseded = new Set<string>();
  #work: Promise<unknown> = Promise.resolve();
  /** Writes that are under way or wait their turn. */
  #writes = 0;
  #loading: Promise<ToolSet> | undefined;

  constructor(options: ServedCatalogOptions) {
    this.#options = options;
    this.#modules = new WrittenModules(generatedDirectory(options.configuration));
  }

  /** Does not wait for modules that are being written. @throws CatalogError when the catalog on disk cannot be read. */
  async current(): Promise<ServedTools> {
    return this.#view(await this.#latest());
  }

  /** The same for a program, once its modules are there: what is missing of them, or was edited, is written again. */
  async forProgram(): Promise<ServedTools> {
    const { stored } = await this.#latest();
    const names = this.#options.configuration.servers.map(({ name }) => name);
    const damaged = stored === undefined ? [] : await this.#modules.findDamaged(stored.lock, names);
    if (damaged.length > 0) await this.#write(() => this.#repair(damaged));
    return this.current();
  }

  #view(tools: ToolSet): ServedTools {
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
    this.#arrived.set(name, listing);
    await this.#write(async () => {
      const latest = this.#arrived.get(name);
      if (latest === undefined) return;
      this.#arrived.delete(name);
      try {
        await regenerate(configuration, server, latest);
        await this.#load();
      } catch (error) {
        onWarning(`the modules of server '${name}' could not be brought up to date: ${messageOf(error)}`);
      }
      this.#superseded.delete(name);
      this.#unlisted.delete(serverModule(name));
    });
  }

  /** Whether another process has written modules of a server since this one last took in what it lists. */
  isSuperseded(name: string): boolean {
    return this.#superseded.has(name);
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

  async #latest(): Promise<ToolSet> {
    const isKnown = this.#writes > 0 || (await this.#lockVersion()) === this.#version;
    if (this.#tools !== undefined && (isKnown || this.#writes > 0)) return this.#tools;
    this.#loading ??= this.#inTurn(() => this.#load()).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #repair(damaged: readonly string[]): Promise<void> {
    const { configuration, onWarning } = this.#options;
    const which = `the module of server '${damaged[0]}'${damaged.length > 1 ? ` and ${damaged.length - 1} more` : ""}`;
    try {
      if (!(await repairGenerated(configuration))) return;
      onWarning(`${which} was missing or had been changed, and has been written again`);
      await this.#load();
    } catch (error) {
      onWarning(
        `${which} is missing or has been changed, and cannot be written again: ${messageOf(error)}; run \`ptc generate\``,
      );
    }
  }

  #lockVersion(): Promise<string | undefined> {
    return fileVersion(join(generatedDirectory(this.#options.configuration), "ptc.lock.json"));
  }

  async #load(): Promise<ToolSet> {
    const { configuration } = this.#options;
    const version = await this.#lockVersion();
    if (this.#tools !== undefined && version === this.#version) return this.#tools;
    const before = this.#tools?.directory.servers.map(({ module }) => module).join();
    const tools = await loadToolSet(configuration);
    if (this.#tools !== undefined) this.#noteSuperseded(this.#tools, tools);
    this.#tools = tools;
    this.#version = version;
    const after = tools.directory.servers.map(({ module }) => module).join();
    if (before !== undefined && before !== after) for (const listener of this.#listeners) listener();
    return tools;
  }

  /** Whoever wrote it: what this process wrote itself is taken off again by the one that took it in. */
  #noteSuperseded(before: ToolSet, after: ToolSet): void {
    for (const { name } of this.#options.configuration.servers) {
      const [old, now] = [before, after].map(({ stored }) => digestsOf(stored?.lock.servers.get(name)));
      if (old !== now) this.#superseded.add(name);
    }
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

  async #write(work: () => Promise<void>): Promise<void> {
    this.#writes++;
    try {
      await this.#inTurn(work);
    } finally {
      this.#writes--;
    }
  }

  /** One at a time: nothing is read from disk while it is being written. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#work.then(work);
    this.#work = turn.catch(() => {});
    return turn;
  }
}

function digestsOf(server: LockedServer | undefined): string {
  return [...(server?.tools ?? [])].map(([name, { sha256 }]) => `${sha256} ${name}`).join();
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
