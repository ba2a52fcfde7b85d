import { type Alike, fuse } from "../../catalog/search/meaning/fuse.ts";
import { queryTexts } from "../../catalog/search/meaning/query-texts.ts";
import { likeness } from "../../catalog/search/meaning/vector.ts";
import type { Ranking, RankingStage } from "../../catalog/search/search-tools.ts";
import type { SearchableTool } from "../../catalog/search/searchable-text.ts";
import type { SearchHits } from "../../catalog/search/tool-search.ts";
import type { EndpointHealth } from "./endpoint-health.ts";
import type { ToolVectors } from "./tool-vectors.ts";

/** With fewer vectors than for this share of the tools, what meaning finds would be what happens to have one. */
const MIN_KNOWN = 0.9;

interface MeaningOptions {
  vectors: Pick<ToolVectors, "prepare" | "prepared" | "known" | "ofTexts">;
  health: Pick<EndpointHealth, "problem">;
  /** How the endpoint is called in messages. */
  name: string;
  timeoutMs: number;
  /** Whether a search waits, within its time, for vectors of tools that are missing. */
  waits: boolean;
}

/** Ranks by words and by meaning, where the vectors of the tools and of the query can be had in time. */
export class MeaningStage implements RankingStage {
  readonly #options: MeaningOptions;

  constructor(options: MeaningOptions) {
    this.#options = options;
  }

  prepare(tools: readonly SearchableTool[]): void {
    this.#options.vectors.prepare(tools);
  }

  async rank(query: string, found: SearchHits, tools: readonly SearchableTool[]): Promise<Ranking> {
    if (tools.length === 0) return {};
    const { vectors, timeoutMs, waits } = this.#options;
    const until = performance.now() + timeoutMs;
    const leftMs = () => Math.max(0, until - performance.now());
    vectors.prepare(tools);
    const isKnown = async () => {
      const known = await vectors.known();
      return tools.filter(({ definitionDigest }) => known.has(definitionDigest)).length;
    };
    let count = await isKnown();
    if (count < tools.length && waits) {
      await vectors.prepared(leftMs());
      count = await isKnown();
    }
    if (count < tools.length * MIN_KNOWN)
      return this.#byWords(
        `the vectors of ${tools.length - count} of ${tools.length} tools are still to be computed`,
      );
    const texts = queryTexts(query);
    const ofQuery = await vectors.ofTexts(texts, leftMs());
    if (ofQuery === undefined) return this.#byWords("it is not asked just now");
    const known = await vectors.known();
    const all = tools.map((tool): Alike => {
      const vector = known.get(tool.definitionDigest);
      return { tool, likenesses: vector && ofQuery.map((text) => likeness(text, vector)) };
    });
    const { hits, standsOut } = fuse(found.results, found.coverage ?? 0, all);
    const isPoor = found.fitsPoorly === true || found.results.length === 0;
    return { hits, fitsPoorly: isPoor && !standsOut };
  }

  #byWords(why: string): Ranking {
    const { name, health } = this.#options;
    return { problem: `${name}: ${health.problem ?? why}` };
  }
}
