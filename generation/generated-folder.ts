import { CatalogError } from "../catalog/catalog-error.ts";
import type { LearnedTypes } from "../catalog/learned/learned-types.ts";
import type { ServerListing, Warning } from "../catalog/parse-tool.ts";
import { findCatalog } from "../catalog/store/catalog-file.ts";
import { readOwnFile } from "../catalog/store/own-file.ts";
import type { StoredCatalog } from "../catalog/store/stored-catalog.ts";
import { type WrittenFiles, writeGenerated } from "../catalog/store/write-generated.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { loadPrinters } from "../languages/languages.ts";
import { openPrograms } from "../programs/open-programs.ts";
import { PROGRAMS_MODULE } from "../protocol/tool-names.ts";
import { linkOutOf } from "../system/link-out-of.ts";
import { type GenerationPlan, planGeneration } from "./generate-plan.ts";
import { generatedDirectory } from "./generated-modules.ts";

const NOTHING_LEARNED: LearnedTypes = new Map();

/** A folder of generated files. Configured servers that are not listed this time keep their files. */
export class GeneratedFolder {
  readonly directory: string;
  readonly #configuration: Configuration;

  /** @param directory defaults to the folder that programs import from. */
  constructor(configuration: Configuration, directory = generatedDirectory(configuration)) {
    this.#configuration = configuration;
    this.directory = directory;
  }

  /**
   * Decides what the folder should hold after some servers were listed. Writes nothing.
   *
   * @param previous the verified content of the folder.
   * @param modules module texts by path, reused if they would not change.
   * @param learned the learned types of results; by default those in the folder.
   * @throws CatalogError when two servers would share a module.
   */
  async plan(
    listings: readonly ServerListing[],
    previous: StoredCatalog | undefined,
    modules?: ReadonlyMap<string, string>,
    learned = previous?.learned,
  ): Promise<GenerationPlan> {
    const keep = this.#configuration.servers.map(({ name }) => name);
    const printers = await loadPrinters(this.#configuration.languages);
    const known = this.#configuration.learn ? learned : NOTHING_LEARNED;
    const warnings: Warning[] = [];
    const saved = await openPrograms(this.#configuration, (message) =>
      warnings.push({ server: PROGRAMS_MODULE, message }),
    );
    const programs = (await saved?.printFor(printers)) ?? [];
    const plan = await planGeneration({
      listings,
      previous,
      keep,
      printers,
      learned: known,
      programs,
      ...(modules && { modules }),
    });
    return { ...plan, warnings: [...plan.warnings, ...warnings] };
  }

  /** Writes the planned files. @throws CatalogError, and writes nothing then. */
  async write({ files }: GenerationPlan): Promise<WrittenFiles> {
    const link = linkOutOf(this.#configuration.directory, this.directory);
    if (link !== undefined)
      throw new CatalogError(
        "unsafe-path",
        `${link} is a link that leads out of the folder of ptc.yaml, and ptc writes no modules there: remove it`,
      );
    return writeGenerated(this.directory, files);
  }

  /** The paths at which the folder differs from the plan. */
  async findStale({ files }: GenerationPlan): Promise<string[]> {
    const stale: string[] = [];
    for (const [path, text] of files) {
      const found = await this.#read(path);
      if (found?.equals(Buffer.from(text)) !== true) stale.push(path);
    }
    return stale;
  }

  /**
   * Writes modules, catalog and lock after servers were listed. A folder that cannot be read is left alone, because no
   * person asked for this write.
   *
   * @throws CatalogError
   */
  async update(listings: readonly ServerListing[]): Promise<void> {
    await this.#writeAgain(listings, await findCatalog(this.directory));
  }

  /** Prints modules again with these types of results. Returns whether any file changed. @throws CatalogError */
  async learn(learned: LearnedTypes): Promise<boolean> {
    const { written, removed } = await this.#writeAgain([], await findCatalog(this.directory), learned);
    return written.length + removed.length > 0;
  }

  /**
   * Rewrites files that are missing or were edited, from the stored listings. Returns whether there were any.
   *
   * @param stored the state to write; defaults to the catalog in the folder.
   * @throws CatalogError
   */
  async repair(stored?: StoredCatalog): Promise<boolean> {
    const { written, removed } = await this.#writeAgain([], stored ?? (await findCatalog(this.directory)));
    return written.length + removed.length > 0;
  }

  /**
   * Writes the modules of saved programs for editors, if anything was generated before.
   *
   * @throws CatalogError
   */
  async updatePrograms(): Promise<void> {
    const previous = await findCatalog(this.directory);
    if (previous !== undefined) await this.#writeAgain([], previous);
  }

  async #writeAgain(
    listings: readonly ServerListing[],
    previous: StoredCatalog | undefined,
    learned = previous?.learned,
  ): Promise<WrittenFiles> {
    return this.write(await this.plan(listings, previous, await this.#readModules(previous), learned));
  }

  /** Reads the modules on disk, so that unchanged modules need not be printed again. */
  async #readModules(stored: StoredCatalog | undefined): Promise<Map<string, string>> {
    const modules = new Map<string, string>();
    const printers = await loadPrinters(this.#configuration.languages);
    const servers = stored?.catalog.servers ?? [];
    for (const path of servers.flatMap(({ module }) => printers.map((each) => each.modulePath(module)))) {
      const text = await this.#read(path);
      if (text !== undefined) modules.set(path, text.toString());
    }
    return modules;
  }

  #read(path: string): Promise<Buffer | undefined> {
    return readOwnFile(this.directory, path).catch(() => undefined);
  }
}
