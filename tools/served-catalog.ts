import { messageOf } from "../base/faults.ts";
import { oneLine } from "../base/visible-text.ts";
import type { Authorizer, Viewer } from "../broker/policy/authorizer.ts";
import { CatalogError } from "../catalog/catalog-error.ts";
import type { LearnedTypes } from "../catalog/learned/learned-types.ts";
import { ToolIndex } from "../catalog/search/tool-index.ts";
import { type FoundCatalog, findCatalog, mendCatalog, renderEdits } from "../catalog/store/catalog-file.ts";
import type { Lockfile, StoredCatalog } from "../catalog/store/stored-catalog.ts";
import type { ToolCatalog } from "../catalog/tool-catalog.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { offServers } from "../configuration/configured-servers.ts";
import { planGeneration } from "../generation/generate-plan.ts";
import { GeneratedFolder } from "../generation/generated-folder.ts";
import { type HeldModules, WrittenModules } from "../generation/generated-modules.ts";
import { describeListing } from "../generation/list-servers.ts";
import { loadPrinters } from "../languages/languages.ts";
import { openPrograms } from "../programs/open-programs.ts";
import type { SavedPrograms } from "../programs/saved-programs.ts";
import { serverModule } from "../protocol/tool-names.ts";
import { version } from "../system/package.ts";
import { listFunctions } from "../upstream/functions/function-connection.ts";
import type { UpstreamListing } from "../upstream/upstream.ts";
import type { LiveCatalog } from "./live-catalog.ts";
import {
  ByViewer,
  buildProgramTools,
  catalogVersion,
  digestsOf,
  generatedVersion,
  type ProgramTools,
  toldOf,
} from "./program-tools.ts";
import type { FollowedRanking } from "./search/open-ranking.ts";

/** The most characters of a tool's name in a warning. */
const MAX_SHOWN_CHARS = 80;

export interface ServedCatalogOptions {
  configuration: Configuration;
  /** Decides who sees which tools. */
  authorizer: Authorizer;
  /** Ranks tools after the word search. */
  ranking?: FollowedRanking;
  onWarning: (message: string) => void;
}

/**
 * The catalog of `ptc serve`. It is read from disk, and read again after every change there. This process rewrites it when a server
 * changes its list; another process may do so too. The last known entry replaces an entry that was edited on disk. A server without a
 * known entry counts as not listed yet.
 */
export class ServedCatalog implements LiveCatalog {
  #options: ServedCatalogOptions;
  readonly #indexes = new ByViewer(() => new ToolIndex());
  /** Why the tools of a configured server are not known, by module. */
  readonly #unlisted = new Map<string, string>();
  #off: ReadonlyMap<string, string> = new Map();
  readonly #listeners = new Set<() => void>();
  #loaded: LoadedCatalog | undefined;
  /** The version of the files that the catalog was read from. */
  #version: string | undefined;
  #programs: SavedPrograms | undefined;
  #held: HeldModules | undefined;
  #folder: GeneratedFolder;
  readonly #modules: WrittenModules;
  /** By server, the latest listing that is not written yet. */
  readonly #arrived = new Map<string, UpstreamListing>();
  /** By server, the write of the modules for its latest listing. */
  readonly #absorbing = new Map<string, Promise<void>>();
  readonly #superseded = new Set<string>();
  #work: Promise<unknown> = Promise.resolve();
  /** The number of writes that are running or queued. */
  #writes = 0;
  #loading: Promise<LoadedCatalog> | undefined;

  constructor(options: ServedCatalogOptions) {
    this.#options = options;
    this.#folder = new GeneratedFolder(options.configuration);
    this.#modules = new WrittenModules(this.#folder.directory);
    this.#noteOff();
  }

  /** Switches to another configuration, whose generated files are in the same folder. */
  async reconfigure(configuration: Configuration): Promise<void> {
    await this.#inTurn(async () => {
      const before = this.#loaded;
      this.#options = { ...this.#options, configuration };
      this.#held = await holdFunctions(configuration);
      this.#folder = new GeneratedFolder(configuration);
      this.#noteOff();
      if (before === undefined) return;
      this.#loaded = { stored: before.stored, tools: this.#build(before.stored) };
      this.#tellOfServers(before, this.#loaded);
    });
  }

  /** Does not wait for modules that are being written. @throws CatalogError when the catalog on disk cannot be read. */
  async current(viewer: Viewer): Promise<ToolCatalog> {
    return (await this.latest()).tools.callableFor(viewer);
  }

  /** Like `current`, with everybody's tools. @throws CatalogError */
  async currentTools(): Promise<ProgramTools> {
    return (await this.latest()).tools;
  }

  /**
   * Like `currentTools`, but resolves when the modules of the tools are on disk. Rewrites missing and edited modules first,
   * and waits for the modules of servers that are being listed for the first time.
   */
  async forProgram(): Promise<ProgramTools> {
    const names = this.#options.configuration.servers.map(({ name }) => name);
    const known = (await this.latest()).stored?.lock.servers;
    const first = names.filter((name) => !known?.has(name)).map((name) => this.#absorbing.get(name));
    await Promise.all(first);
    const { stored } = await this.latest();
    const damaged = stored === undefined ? [] : await this.#findDamaged(stored.lock, names);
    if (damaged.length > 0) await this.#write(() => this.#repair(damaged));
    return this.currentTools();
  }

  onServersChanged(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Stores what a server has just listed, and rewrites its modules when the definitions have changed. */
  async absorb(name: string, listing: UpstreamListing): Promise<void> {
    const { configuration, onWarning } = this.#options;
    const server = configuration.servers.find((each) => each.name === name);
    if (server === undefined || server.transport === "functions") return;
    for (const { tool, message } of listing.problems ?? [])
      onWarning(
        `server '${name}': ${tool === undefined ? "" : `${oneLine(tool, MAX_SHOWN_CHARS)} `}${message}`,
      );
    this.#arrived.set(name, listing);
    const absorbed = this.#write(async () => {
      const latest = this.#arrived.get(name);
      if (latest === undefined) return;
      this.#arrived.delete(name);
      try {
        await this.#folder.update([describeListing(server, latest)]);
        await this.#load();
      } catch (error) {
        onWarning(`the modules of server '${name}' could not be brought up to date: ${messageOf(error)}`);
      }
      this.#superseded.delete(name);
      this.#unlisted.delete(serverModule(name));
    });
    this.#absorbing.set(name, absorbed);
    await absorbed;
    if (this.#absorbing.get(name) === absorbed) this.#absorbing.delete(name);
  }

  /** Resolves when what servers have listed so far is in the catalog, and its modules are written. Never rejects. */
  async absorbed(): Promise<void> {
    await Promise.all(this.#absorbing.values());
  }

  /** Prints the modules again with these types of results. Never rejects. */
  async learn(learned: LearnedTypes): Promise<void> {
    await this.#write(async () => {
      try {
        await this.#folder.learn(learned);
        await this.#load();
      } catch (error) {
        this.#options.onWarning(`modules could not be printed with learned types: ${messageOf(error)}`);
      }
    });
  }

  /** Whether a server's definitions on disk were changed since this process last stored its listing. */
  isSuperseded(name: string): boolean {
    return this.#superseded.has(name);
  }

  /** Notes why the tools of a server are not known. */
  miss(name: string, why: string): void {
    this.#unlisted.set(serverModule(name), why);
  }

  /** The configured servers that are not off and whose tools are not in the catalog yet. */
  async unknownServers(): Promise<string[]> {
    const { stored } = await this.latest();
    const known = new Set(stored?.catalog.servers.map(({ name }) => name));
    const inUse = this.#options.configuration.servers.filter(
      ({ off, transport }) => off === undefined && transport !== "functions",
    );
    return inUse.map(({ name }) => name).filter((name) => !known.has(name));
  }

  /** The catalog on disk, and its tools. @throws CatalogError */
  async latest(): Promise<LoadedCatalog> {
    const isKnown = this.#writes > 0 || catalogVersion(this.#options.configuration) === this.#version;
    if (this.#loaded !== undefined && isKnown) return this.#loaded;
    this.#loading ??= this.#inTurn(() => this.#load()).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #findDamaged(lock: Lockfile, names: readonly string[]): Promise<string[]> {
    const printers = await loadPrinters(this.#options.configuration.languages);
    return this.#modules.findDamaged(lock, names, printers);
  }

  async #repair(damaged: readonly string[]): Promise<void> {
    const { onWarning } = this.#options;
    const which = `the module of server '${damaged[0]}'${damaged.length > 1 ? ` and ${damaged.length - 1} more` : ""}`;
    try {
      if (!(await this.#folder.repair())) return;
      onWarning(`${which} was missing or had been changed, and has been written again`);
      await this.#load();
    } catch (error) {
      onWarning(
        `${which} is missing or has been changed, and cannot be written again: ${messageOf(error)}; run \`ptc generate\``,
      );
    }
  }

  async #load(): Promise<LoadedCatalog> {
    const version = catalogVersion(this.#options.configuration);
    const before = this.#loaded;
    if (before !== undefined && version === this.#version) return before;
    const found = await this.#find();
    this.#held ??= await holdFunctions(this.#options.configuration);
    this.#programs = await openPrograms(this.#options.configuration, this.#options.onWarning);
    const kept = generatedVersion(this.#options.configuration) === undefined ? undefined : before?.stored;
    const stored = found === undefined ? kept : await this.#verified(found);
    const loaded = { stored, tools: this.#build(stored) };
    this.#loaded = loaded;
    this.#version = (found?.edits.length ?? 0) > 0 ? catalogVersion(this.#options.configuration) : version;
    if (before !== undefined) {
      this.#noteSuperseded(before, loaded);
      this.#tellOfServers(before, loaded);
    }
    return loaded;
  }

  #build(stored: StoredCatalog | undefined): ProgramTools {
    const { configuration, authorizer } = this.#options;
    const ranking = this.#options.ranking?.under(configuration);
    const served = {
      indexes: this.#indexes,
      unlisted: this.#unlisted,
      programs: this.#programs,
      ranking,
      held: this.#held,
    };
    const tools = buildProgramTools(configuration, stored, authorizer, served);
    this.#options.ranking?.prepare(tools);
    return tools;
  }

  #tellOfServers(before: LoadedCatalog, after: LoadedCatalog): void {
    if (toldOf(before.tools) !== toldOf(after.tools)) for (const listener of this.#listeners) listener();
  }

  /** Adds the servers that are off to `#unlisted`, and removes those that are no longer configured. */
  #noteOff(): void {
    const { configuration } = this.#options;
    const off = offServers(configuration);
    const kept = new Set(configuration.servers.map(({ module }) => module));
    for (const [module, why] of this.#unlisted) {
      if (!kept.has(module) || this.#off.get(module) === why) this.#unlisted.delete(module);
    }
    for (const [module, why] of off) this.#unlisted.set(module, why);
    this.#off = off;
  }

  /** The catalog on disk; `undefined`, with a warning, when it can no longer be read but an earlier one was loaded. */
  async #find(): Promise<FoundCatalog | undefined> {
    try {
      return await findCatalog(this.#folder.directory);
    } catch (error) {
      if (this.#loaded === undefined || !(error instanceof CatalogError)) throw error;
      this.#options.onWarning(error.message);
      return undefined;
    }
  }

  /** The catalog with edited entries replaced by the last known ones. */
  async #verified(found: FoundCatalog): Promise<StoredCatalog> {
    if (found.edits.length === 0) return found;
    const { onWarning } = this.#options;
    onWarning(renderEdits(this.#folder.directory, found.edits));
    const edited = new Set(found.edits.map(({ server }) => server));
    const { stored, unknown } = mendCatalog(found, this.#loaded?.stored, edited);
    for (const name of unknown)
      this.#unlisted.set(
        serverModule(name),
        `the entries of server '${name}' in the catalog were edited; run \`ptc generate\``,
      );
    if (unknown.length === 0) {
      await this.#folder.repair(stored).catch((error: unknown) => onWarning(messageOf(error)));
    }
    return stored;
  }

  /** Notes servers whose digests changed on disk. `absorb` removes those that this process has written itself. */
  #noteSuperseded(before: LoadedCatalog, after: LoadedCatalog): void {
    for (const { name } of this.#options.configuration.servers) {
      const [old, now] = [before, after].map(({ stored }) => digestsOf(stored?.lock.servers.get(name)));
      if (old !== now) this.#superseded.add(name);
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

  /** Runs reads and writes of the folder one at a time. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#work.then(work);
    this.#work = turn.catch(() => {});
    return turn;
  }
}

/**
 * Generates the modules of functions, which are in no folder: other processes have others. `undefined` where there are none.
 */
async function holdFunctions({ servers, languages }: Configuration): Promise<HeldModules | undefined> {
  const listings = servers.flatMap((server) =>
    server.transport === "functions" ? describeListing(server, listFunctions(server.functions, version)) : [],
  );
  if (listings.length === 0) return undefined;
  return planGeneration({ listings, printers: await loadPrinters(languages) });
}

/** The catalog as it was read last. */
interface LoadedCatalog {
  stored: StoredCatalog | undefined;
  tools: ProgramTools;
}
