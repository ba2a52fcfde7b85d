import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { searchSetsFolder as folder, meanNdcg, readSearchSets } from "./search-sets.ts";

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
