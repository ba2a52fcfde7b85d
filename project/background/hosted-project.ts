/** The project that a background host serves, and what tells it apart from that of a caller. */
import type { RankingStage } from "../../catalog/search/tool-index.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { FindOptions } from "../../configuration/configuration-paths.ts";
import { configurationOf, findConfiguration } from "../../configuration/load.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { catalogVersion, loadProgramTools, type ProgramTools } from "../../tools/program-tools.ts";
import { rankingOfCommands } from "../../tools/search/open-ranking.ts";
import type { Host, HostCatalog } from "../host.ts";
import { LOCAL_USER } from "../local-user.ts";
import { openHost } from "../open-host.ts";
import { Project } from "../open-project.ts";
import { differingVariables, type HostIdentity, identify } from "./host-identity.ts";

export class HostedProject {
  readonly configuration: Configuration;
  readonly #env: EnvironmentVariables;
  /** The text of the configuration. */
  readonly #text: string;

  private constructor(configuration: Configuration, env: EnvironmentVariables, text: string) {
    this.configuration = configuration;
    this.#env = env;
    this.#text = text;
  }

  /** @throws ConfigurationError */
  static async read(options: FindOptions): Promise<HostedProject> {
    const found = await findConfiguration(options);
    return new HostedProject(configurationOf(found, options), options.env, found?.text ?? "");
  }

  identify(files: Pick<HostIdentity, "build" | "fileDigest">): HostIdentity {
    return identify(files, this.configuration, this.#env);
  }

  /** The variables by which the environment of a caller differs from that of the host. */
  differingVariables(caller: EnvironmentVariables): string[] {
    const { configuration } = this;
    return differingVariables(this.#env, caller, { configuration, text: this.#text });
  }

  /**
   * Opens what runs the programs of callers.
   *
   * @param takeLostSession says once how a session ended that an earlier host had.
   */
  async open(
    onWarning: (message: string) => void,
    takeLostSession: (name: string) => string | undefined,
  ): Promise<OpenHosted> {
    const { configuration } = this;
    const project = new Project(configuration, { env: this.#env, onWarning });
    const host = openHost(project, {
      telemetry: await project.openTelemetry(),
      catalog: new CatalogOnDisk(configuration, this.#env),
      warm: configuration.sandbox.warm,
      idleMs: configuration.host.idleMs,
      takeLostSession: (_, name) => takeLostSession(name),
    });
    return {
      host,
      async sessions() {
        return (await host.sessions(LOCAL_USER.principal).list()).map(({ name }) => name);
      },
      close: (patienceMs) => project.close(patienceMs),
    };
  }
}

/** What runs the programs of callers. */
export interface OpenHosted {
  host: Host;
  /** The names of the sessions that are open. */
  sessions(): Promise<string[]>;
  close(patienceMs: number): Promise<void>;
}

/**
 * The catalog that `ptc generate` wrote last. It is read again after every change and never written, as by a command in a separate
 * process.
 */
class CatalogOnDisk implements HostCatalog {
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
      // The user may repair an edited file without changing its version.
      if (this.#loaded === loaded) this.#loaded = undefined;
    });
    return loaded.tools;
  }

  forProgram(): Promise<ProgramTools> {
    return this.currentTools();
  }
}
