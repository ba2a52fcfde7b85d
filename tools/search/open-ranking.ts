import type { Viewer } from "../../broker/policy/authorizer.ts";
import type { SearchableTool } from "../../catalog/search/searchable-text.ts";
import type { RankingStage } from "../../catalog/search/tool-index.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import type { ProgramTools } from "../program-tools.ts";
import type { RankingOptions } from "./compose-ranking.ts";

/** The ranking stages, loaded at the first use; `undefined` if the configuration names no model. */
function openRanking(
  configuration: Pick<Configuration, "directory" | "search">,
  options: RankingOptions,
): RankingStage | undefined {
  const { embedding, rerank } = configuration.search;
  if (embedding === undefined && rerank === undefined) return undefined;
  let composed: Promise<RankingStage | undefined> | undefined;
  const load = () => {
    composed ??= import("./compose-ranking.ts").then(({ composeRanking }) =>
      composeRanking(configuration, options),
    );
    return composed;
  };
  return {
    prepare(tools: readonly SearchableTool[]) {
      void load().then((stage) => stage?.prepare?.(tools));
    },
    rank: async (...search) => (await load())?.rank(...search) ?? {},
  };
}

/** The ranking for commands. They report problems of a search themselves, and show no text that could hold a key. */
export function rankingOfCommands(
  configuration: Pick<Configuration, "directory" | "search">,
  env: EnvironmentVariables,
): RankingStage | undefined {
  return openRanking(configuration, { env, waits: true, onSecret() {}, onWarning() {} });
}

/** The ranking for `ptc serve`. It is opened again when the settings of search have changed. */
export class FollowedRanking {
  readonly #viewer: Viewer;
  readonly #options: Omit<RankingOptions, "waits">;
  #settings: string | undefined;
  #stage: RankingStage | undefined;

  /** @param viewer the viewer whose tools are prepared in advance. Tools that the policy hides from them are never sent. */
  constructor(viewer: Viewer, options: Omit<RankingOptions, "waits">) {
    this.#viewer = viewer;
    this.#options = options;
  }

  under(configuration: Configuration): RankingStage | undefined {
    const settings = JSON.stringify(configuration.search);
    if (settings !== this.#settings) {
      this.#settings = settings;
      this.#stage = openRanking(configuration, { ...this.#options, waits: false });
    }
    return this.#stage;
  }

  /** Prepares the tools in the background. */
  prepare(tools: Pick<ProgramTools, "callableFor">): void {
    if (this.#stage?.prepare === undefined) return;
    const { servers } = tools.callableFor(this.#viewer);
    this.#stage.prepare(servers.flatMap((server) => server.tools));
  }
}
