import { relative } from "node:path";
import { CatalogError } from "../catalog/catalog-error.ts";
import { collectLearned, type LearnedTypes } from "../catalog/learned/learned-types.ts";
import type { Warning } from "../catalog/parse-tool.ts";
import { type FoundCatalog, renderEdit, salvageCatalog } from "../catalog/store/catalog-file.ts";
import type { StoredCatalog } from "../catalog/store/stored-catalog.ts";
import type { WrittenFiles } from "../catalog/store/write-generated.ts";
import type { Configuration, ServerConfiguration } from "../configuration/configuration.ts";
import { type UnmatchedPattern, unmatchedPatterns } from "../configuration/tool-patterns.ts";
import { loadPrinters, type Printers } from "../languages/languages.ts";
import { namespacedName } from "../protocol/tool-names.ts";
import type { UpstreamErrorCode } from "../upstream/upstream-error.ts";
import { compareCatalogs, type ServerDrift } from "./drift.ts";
import { type EditorConfig, findEditorConfig, writeEditorConfig } from "./editor-config.ts";
import type { GenerationPlan } from "./generate-plan.ts";
import type { GeneratedFolder } from "./generated-folder.ts";
import { generatedDirectory } from "./generated-modules.ts";
import { type ConfiguredServers, type ListOutcome, listServers } from "./list-servers.ts";

/** The proposed content of a folder after servers were listed, compared with its present content. */
export interface Generation {
  /** What the folder should hold. */
  plan: GenerationPlan;
  /** The servers that were listed. */
  listed: ReadonlySet<string>;
  /** Parts of the listed definitions that could not be used unchanged. */
  warnings: Warning[];
  /** The differences between what the servers list and what the folder holds. */
  drift: ServerDrift[];
  /** The parts of the folder that cannot be used. */
  damage: Damage[];
  failures: ListFailure[];
  /** How editors find the modules of each language; empty when another folder is written than the one that programs import from. */
  editors: readonly EditorConfig[];
  /** The paths of a server's modules in the folder, one for each language. */
  modulePaths: (module: string) => readonly string[];
}

/** A part of the catalog or lock that cannot be used. */
interface Damage {
  /** One line that names the file. */
  problem: string;
  /** Whether this generation rewrites it. Otherwise it is left out until its server can be listed. */
  isMended: boolean;
}

/** A server that could not be listed. */
interface ListFailure {
  server: string;
  code: UpstreamErrorCode;
  message: string;
  /** Whether its modules are kept. Otherwise it has none. */
  isKept: boolean;
  /** Whether it is off by the configuration, so that trying it again is of no use. */
  isOff: boolean;
  /** Whether it did not already fail in the previous generation. */
  isNew: boolean;
}

export interface GeneratorOptions {
  configuration: Configuration;
  /** The configured servers that are to be listed. */
  servers: readonly ServerConfiguration[];
  upstreams: ConfiguredServers;
  folder: GeneratedFolder;
  /** Learns what tools do not declare of their results; without it, modules are printed with what the folder holds of that. */
  learn?: ((stored: StoredCatalog | undefined) => Promise<LearnedTypes | undefined>) | undefined;
}

/** Generates typed modules when a person asks for it: once, or again after every change of tools. */
export class ModuleGenerator {
  readonly #options: GeneratorOptions;
  /** The last printed files by path. Those on disk may have been edited together with the lock. */
  #printed: ReadonlyMap<string, string> | undefined;
  #failing: ReadonlySet<string> = new Set();

  constructor(options: GeneratorOptions) {
    this.#options = options;
  }

  /**
   * Lists the servers and decides what the folder should hold. Writes nothing. When the catalog in the folder cannot be
   * read, all servers must be listed.
   *
   * @param onOutcome is told of each server as soon as it is listed or cannot be.
   * @throws CatalogError
   */
  async propose(signal: AbortSignal, onOutcome?: (outcome: ListOutcome) => void): Promise<Generation> {
    const { configuration, servers, upstreams, folder, learn } = this.#options;
    const { listings, failures, problems } = await listServers(servers, upstreams, signal, onOutcome);
    const listed = new Set(listings.map(({ name }) => name));
    const { found, unreadable } = await salvageCatalog(folder.directory);
    if (unreadable !== undefined && servers.length < configuration.servers.length)
      throw new CatalogError("broken", `${unreadable.message} for all servers`);
    const printers = await loadPrinters(configuration.languages);
    const published = [...(found?.learned?.values() ?? [])];
    const learned = collectLearned([...((await learn?.(found))?.values() ?? []), ...published]);
    const plan = await folder.plan(listings, found, this.#printed, learned);
    this.#printed = plan.files;
    const failing = this.#failing;
    this.#failing = new Set(failures.map(({ server }) => server));
    return {
      plan,
      editors: await this.#findEditors(printers, plan),
      modulePaths: (module) => printers.map((printer) => printer.modulePath(module)),
      listed,
      warnings: [...problems, ...plan.warnings],
      drift: await compareCatalogs(found?.unverified, plan.catalog, printers[0]),
      damage: findDamage(found, unreadable, listed),
      failures: failures.map((failure) => ({
        ...failure,
        isKept: plan.lock.servers.has(failure.server),
        isOff: servers.some(({ name, off }) => name === failure.server && off !== undefined),
        isNew: !failing.has(failure.server),
      })),
    };
  }

  /** Writes the proposed files, then what editors need beside them. @throws CatalogError; nothing is half written then. */
  async write({ plan, editors }: Generation): Promise<WrittenFiles> {
    const { folder, configuration } = this.#options;
    const outcome = await folder.write(plan);
    const missing = editors.filter(({ state }) => state === "missing");
    for (const editor of missing) await writeEditorConfig(editor, configuration);
    return { ...outcome, written: [...outcome.written, ...this.#relative(missing)] };
  }

  /** The paths at which the folder, and what editors need beside it, differ from the proposal. */
  async findStale({ plan, editors }: Generation): Promise<string[]> {
    const stale = await this.#options.folder.findStale(plan);
    return [...stale, ...this.#relative(editors.filter(({ state }) => state === "missing"))];
  }

  async #findEditors(printers: Printers, { catalog }: GenerationPlan): Promise<EditorConfig[]> {
    const { configuration, folder } = this.#options;
    const isRead = folder.directory === generatedDirectory(configuration) && catalog.servers.length > 0;
    const setups = isRead ? printers.flatMap(({ editor }) => editor ?? []) : [];
    return Promise.all(setups.map((setup) => findEditorConfig(configuration, setup)));
  }

  #relative(editors: readonly EditorConfig[]): string[] {
    return editors.map(({ path }) => relative(this.#options.folder.directory, path));
  }

  /** The first entry of `tools` or `approvals` that names no tool, and therefore guards none. */
  findUnmatchedPattern({ plan }: Generation): UnmatchedPattern | undefined {
    const { configuration } = this.#options;
    const names = plan.catalog.servers.flatMap((server) =>
      server.tools.map((tool) => namespacedName(server.module, tool.name)),
    );
    const unlisted = configuration.servers
      .filter((server) => !plan.lock.servers.has(server.name))
      .map((server) => server.module);
    return unmatchedPatterns(configuration, names, unlisted)[0];
  }
}

function findDamage(
  found: FoundCatalog | undefined,
  unreadable: CatalogError | undefined,
  listed: ReadonlySet<string>,
): Damage[] {
  const edits = (found?.edits ?? []).map((edit) => ({
    problem: renderEdit(edit),
    isMended: listed.has(edit.server),
  }));
  return unreadable === undefined ? edits : [{ problem: unreadable.problem, isMended: true }, ...edits];
}
