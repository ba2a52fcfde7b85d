import type { Viewer } from "../../broker/policy/authorizer.ts";
import type { RankingStage } from "../../catalog/search/tool-index.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { ProgramTools } from "../program-tools.ts";
import type { RankingOptions } from "./compose-ranking.ts";
import { openRanking } from "./open-ranking.ts";

/** What ranks tools beside words in a ptc that serves: opened anew when the settings of search have changed. */
export class FollowedRanking {
  readonly #viewer: Viewer;
  readonly #options: Omit<RankingOptions, "waits">;
  #settings: string | undefined;
  #stage: RankingStage | undefined;

  /** @param viewer whose tools are got ready in advance: nothing is sent of tools that the policy does not show them. */
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

  /** Gets the tools ready in the background. */
  prepare(tools: Pick<ProgramTools, "callableFor">): void {
    if (this.#stage?.prepare === undefined) return;
    const { servers } = tools.callableFor(this.#viewer);
    this.#stage.prepare(servers.flatMap((server) => server.tools));
  }
}
