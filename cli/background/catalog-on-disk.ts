import type { RankingStage } from "../../catalog/search/tool-index.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { catalogVersion } from "../../tools/catalog-version.ts";
import { loadProgramTools, type ProgramTools } from "../../tools/program-tools.ts";
import { rankingOfCommands } from "../../tools/search/open-ranking.ts";
import type { HostCatalog } from "../../wiring/host.ts";

/**
 * The catalog as `ptc generate` has written it last. It is read again after every change, and never written, as for a command
 * that runs alone.
 */
export class CatalogOnDisk implements HostCatalog {
  readonly #configuration: Configuration;
  readonly #ranking: RankingStage | undefined;
  #loaded: { version: string; tools: Promise<ProgramTools> } | undefined;

  constructor(configuration: Configuration, env: EnvironmentVariables) {
    this.#configuration = configuration;
    this.#ranking = rankingOfCommands(configuration, env);
  }

  async currentTools(): Promise<ProgramTools> {
    const version = catalogVersion(this.#configuration) ?? "";
    if (this.#loaded?.version === version) return this.#loaded.tools;
    const loaded = {
      version,
      tools: loadProgramTools(this.#configuration, undefined, { ranking: this.#ranking }),
    };
    this.#loaded = loaded;
    loaded.tools.catch(() => {
      // What was edited by hand may be put right without another version of the files.
      if (this.#loaded === loaded) this.#loaded = undefined;
    });
    return loaded.tools;
  }

  forProgram(): Promise<ProgramTools> {
    return this.currentTools();
  }
}
