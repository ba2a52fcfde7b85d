import type { SearchableTool } from "../../catalog/search/searchable-text.ts";
import type { RankingStage } from "../../catalog/search/tool-index.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import type { RankingOptions } from "./compose-ranking.ts";

/** What ranks tools beside words, loaded when it is first used; `undefined` where the configuration names no model. */
export function openRanking(
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

/** What ranks tools for commands. They tell what a search says of a problem themselves, and show no text that could hold a key. */
export function rankingOfCommands(
  configuration: Pick<Configuration, "directory" | "search">,
  env: EnvironmentVariables,
): RankingStage | undefined {
  return openRanking(configuration, { env, waits: true, onSecret() {}, onWarning() {} });
}
