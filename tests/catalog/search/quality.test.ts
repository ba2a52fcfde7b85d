import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { meanNdcg, readSearchSets } from "../../../bench/search.ts";

/** A folder for each set of queries and the tools that answer them. */
const folder = process.env.PTC_SEARCH_SETS ?? resolve(import.meta.dirname, "../../../../shared/data/search");
const present = existsSync(folder);

describe.skipIf(!present)(`search quality${present ? "" : ` (skipped: no folder ${folder})`}`, () => {
  for (const set of present ? readSearchSets(folder) : []) {
    it(`on ${set.name} is at least ${set.target} nDCG@10`, () => {
      expect(meanNdcg(set)).toBeGreaterThanOrEqual(set.target);
    });
  }

  it("is known for all sets", () => {
    expect(readSearchSets(folder).map(({ name }) => name)).toEqual([
      "metatool",
      "metatool-multi",
      "sealtools",
    ]);
  });
});
