import { join } from "node:path";
import { searchTools } from "../../catalog/search/tool-index.ts";
import { buildIndex, ndcg, type SearchSet } from "../../tests/catalog/search/search-sets.ts";
import { MeaningStage } from "../../tools/search/compose-ranking.ts";
import { EndpointHealth } from "../../tools/search/model-endpoint.ts";
import { ToolVectors, VectorFile } from "../../tools/search/tool-vectors.ts";
import { type Figure, percentile } from "../figure.ts";

/** Longer than any part of a measurement takes. */
const PATIENCE_MS = 30 * 60_000;

/**
 * Quality of search with an endpoint for embeddings and without, and how long a search takes with it.
 *
 * @param step every how many queries one is asked.
 */
export async function measureMeaning(
  sets: readonly SearchSet[],
  origin: { url: string; model: string },
  folder: string,
  step: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const { name, tools, queries: all } of sets) {
    const queries = all.filter((_, position) => position % step === 0);
    const failures: string[] = [];
    const health = new EndpointHealth((reason) => failures.push(reason));
    const endpoint = { ...origin, key: undefined };
    const file = new VectorFile(join(folder, name), "vectors.bin", origin);
    const vectors = new ToolVectors({ endpoint, file, health, onWarning: (why) => failures.push(why) });
    const options = { vectors, health, name: origin.model, timeoutMs: PATIENCE_MS, waits: true };
    const stage = new MeaningStage(options);
    const search = buildIndex(tools);
    vectors.prepare(tools);
    await vectors.prepared(PATIENCE_MS);
    let without = 0;
    let withIt = 0;
    const times: number[] = [];
    for (const { query, gold } of queries) {
      without += ndcg(search.search(query, { limit: 10 }), gold);
      const startedAt = performance.now();
      withIt += ndcg(await searchTools(search, query, { limit: 10 }, stage), gold);
      times.push(performance.now() - startedAt);
    }
    if (failures.length > 0) throw new Error(`${origin.url} ${failures.join("; ")}`);
    figures.push({
      name: `search by words and meaning, ${name}`,
      value: withIt / queries.length,
      unit: "nDCG@10",
      bound: { atLeast: without / queries.length },
      detail: `by words alone ${(without / queries.length).toFixed(4)}; ${queries.length} queries, half of them within ${percentile(times, 0.5).toFixed(0)} ms`,
    });
  }
  return figures;
}
