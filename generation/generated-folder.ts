import { stat } from "node:fs/promises";
import { join } from "node:path";
import { CatalogError } from "../catalog/catalog-error.ts";
import type { LearnedTypes } from "../catalog/learned/learned-types.ts";
import { jsonSize, type ServerListing, type Warning } from "../catalog/parse-tool.ts";
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
import { MAX_HERE, type Rewrite, rewriteHere, rewriteOnThread } from "./rewrite.ts";

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
    this.#refuseLink();
    return writeGenerated(this.directory, files);
  }

  #refuseLink(): void {
    const link = linkOutOf(this.#configuration.directory, this.directory);
    if (link !== undefined)
      throw new CatalogError(
        "unsafe-path",
        `${link} is a link that leads out of the folder of ptc.yaml, and ptc writes no modules there: remove it`,
      );
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
    await this.#writeAgain(listings);
  }

  /** Prints modules again with these types of results. Returns whether any file changed. @throws CatalogError */
  async learn(learned: LearnedTypes): Promise<boolean> {
    const { written, removed } = await this.#writeAgain([], undefined, learned);
    return written.length + removed.length > 0;
  }

  /**
   * Rewrites files that are missing or were edited, from the stored listings. Returns whether there were any.
   *
   * @param stored the state to write; defaults to the catalog in the folder.
   * @throws CatalogError
   */
  async repair(stored?: StoredCatalog): Promise<boolean> {
    const { written, removed } = await this.#writeAgain([], stored);
    return written.length + removed.length > 0;
  }

  /**
   * Writes the modules of saved programs for editors, if anything was generated before.
   *
   * @throws CatalogError
   */
  async updatePrograms(): Promise<void> {
    const previous = await findCatalog(this.directory);
    if (previous !== undefined) await this.#writeAgain([]);
  }

  async #writeAgain(
    listings: readonly ServerListing[],
    stored?: StoredCatalog,
    learned?: LearnedTypes,
  ): Promise<WrittenFiles> {
    this.#refuseLink();
    const { languages, servers, learn } = this.#configuration;
    const printers = await loadPrinters(languages);
    const saved = await openPrograms(this.#configuration, () => {});
    const programs = (await saved?.printFor(printers)) ?? [];
    const rewrite: Rewrite = {
      directory: this.directory,
      languages,
      listings,
      keep: servers.map(({ name }) => name),
      stored: stored && {
        catalog: stored.catalog,
        lock: stored.lock,
        ...(stored.learned && { learned: stored.learned }),
      },
      learned: learn ? learned : NOTHING_LEARNED,
      programs: programs.map(({ printer, text, tools }) => ({
        printer: printers.indexOf(printer),
        text,
        tools,
      })),
    };
    return (await this.#isLarge(listings)) ? rewriteOnThread(rewrite) : rewriteHere(rewrite);
  }

  async #isLarge(listings: readonly ServerListing[]): Promise<boolean> {
    const catalog = await stat(join(this.directory, "catalog.json")).catch(() => undefined);
    let size = catalog?.size ?? 0;
    for (const { tools } of listings)
      for (const tool of tools) {
        // A value of another form counts as nothing here, and is refused where it is read.
        size += jsonSize(tool) || 0;
        if (size > MAX_HERE) return true;
      }
    return size > MAX_HERE;
  }

  #read(path: string): Promise<Buffer | undefined> {
    return readOwnFile(this.directory, path).catch(() => undefined);
  }
}
