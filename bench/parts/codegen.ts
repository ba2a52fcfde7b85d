import { compile } from "json-schema-to-typescript";
import type { ServerListing } from "../../catalog/parse-tool.ts";
import { planGeneration } from "../../generation/generate-plan.ts";
import type { Comparison } from "../measurement.ts";

const ROUNDS = 5;

/** Generating from tool lists, for the first time and again, against json-schema-to-typescript alone on the same schemas. */
export async function measureGeneration(listings: readonly ServerListing[]): Promise<Comparison[]> {
  const first = await planGeneration({ listings });
  await compileAlone(listings);
  const baselineMs: number[] = [];
  const coldMs: number[] = [];
  const againMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    baselineMs.push(await time(() => compileAlone(listings)));
    coldMs.push(await time(() => planGeneration({ listings })));
    const listedAgain = structuredClone(listings);
    againMs.push(
      await time(() => planGeneration({ listings: listedAgain, previous: first, modules: first.files })),
    );
  }
  const against = "json-schema-to-typescript alone";
  return [
    { name: "generate, cold", measuredMs: coldMs, against, baselineMs, maxRatio: 1.2 },
    { name: "generate, unchanged", measuredMs: againMs, against, baselineMs, maxRatio: 0.12 },
  ];
}

/** Without formatting, as in ptc: with the library's default formatting it takes several times as long. */
async function compileAlone(listings: readonly ServerListing[]): Promise<void> {
  const options = { format: false, bannerComment: "", $refOptions: { resolve: { external: false } } };
  for (const tool of listings.flatMap(({ tools }) => tools) as Record<string, object | undefined>[]) {
    for (const schema of [tool.inputSchema, tool.outputSchema]) {
      if (schema !== undefined) await compile(structuredClone(schema), "Type", options).catch(() => {});
    }
  }
}

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
