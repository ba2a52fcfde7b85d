import type { Observed } from "../../catalog/learned/learned-state.ts";
import { NOTHING_OBSERVED } from "../../catalog/learned/learned-state.ts";
import {
  collectLearned,
  type LearnedOf,
  type LearnedTypes,
  learnedKey,
} from "../../catalog/learned/learned-types.ts";
import { readCatalog } from "../../catalog/store/catalog-file.ts";
import type { StoredCatalog } from "../../catalog/store/stored-catalog.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { GeneratedFolder } from "../generated-folder.ts";
import { generatedDirectory } from "../generated-modules.ts";
import {
  changeState,
  forgetObserved,
  knownTypes,
  type LearningTask,
  learningTask,
  learnTypes,
  type StatePlace,
  statePlace,
} from "./learn-types.ts";

/** The learned types of a project: those with which its modules were printed, and those observed on this machine since then. */
export class LearnedProject {
  readonly #configuration: Configuration;
  readonly #env: EnvironmentVariables;

  constructor(configuration: Configuration, env: EnvironmentVariables) {
    this.#configuration = configuration;
    this.#env = env;
  }

  /** The known types of tools as they are defined now. @throws CatalogError */
  async known(): Promise<LearnedTypes> {
    const stored = await this.#stored();
    return withPublished(await knownTypes(await this.#task(stored)), stored);
  }

  /**
   * Learns from the runs that were archived since the last time, and prints the modules whose types have changed.
   *
   * @param again whether to read the whole archive again.
   * @returns all known types, and whether any file was written.
   * @throws CatalogError, ArchiveError
   */
  async update({ again = false } = {}): Promise<{ types: LearnedTypes; isWritten: boolean }> {
    if (again) await changeState(await this.#place(), async () => ({ ...NOTHING_OBSERVED }));
    const stored = await this.#stored();
    const types = withPublished(await learnTypes(await this.#task(stored)), stored);
    return { types, isWritten: stored !== undefined && (await this.#folder().learn(types)) };
  }

  /** Forgets the types of some tools, here and in the modules. Runs that were read are not read again. @throws CatalogError */
  async forget(isForgotten: (of: LearnedOf) => boolean): Promise<void> {
    const stored = await this.#stored();
    await forgetObserved(await this.#place(), (observed: Observed) => isForgotten(observed));
    if (stored?.learned === undefined) return;
    await this.#folder().learn(
      collectLearned([...stored.learned.values()].filter((each) => !isForgotten(each))),
    );
  }

  #task(stored: StoredCatalog | undefined): Promise<LearningTask> {
    return learningTask(this.#configuration, this.#env, stored);
  }

  #place(): Promise<StatePlace> {
    return statePlace(this.#configuration, this.#env);
  }

  #stored(): Promise<StoredCatalog | undefined> {
    return readCatalog(generatedDirectory(this.#configuration));
  }

  #folder(): GeneratedFolder {
    return new GeneratedFolder(this.#configuration);
  }
}

/** Learned types and the types with which modules were printed, for tools as they are defined now. */
function withPublished(types: LearnedTypes, stored: StoredCatalog | undefined): LearnedTypes {
  const current = new Set(
    [...(stored?.lock.servers ?? [])].flatMap(([server, { tools }]) =>
      [...tools].map(([tool, { sha256 }]) => learnedKey({ server, tool, definition: sha256 })),
    ),
  );
  const published = [...(stored?.learned?.values() ?? [])].filter((each) => current.has(learnedKey(each)));
  return collectLearned([...types.values(), ...published]);
}
