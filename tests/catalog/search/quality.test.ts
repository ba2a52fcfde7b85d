import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { buildIndex, searchSetsFolder as folder, meanNdcg, readSearchSets } from "./search-sets.ts";

const present = existsSync(folder);

describe.skipIf(!present)(`search quality${present ? "" : ` (skipped: no folder ${folder})`}`, () => {
  for (const set of present ? readSearchSets(folder) : []) {
    it(`on ${set.name} is at least ${set.target} nDCG@10`, () => {
      expect(meanNdcg(set)).toBeGreaterThanOrEqual(set.target);
    });
  }

  it("seldom says that nothing fits where it has found what does", () => {
    const shares = readSearchSets(folder).map(({ name, tools, queries }) => {
      const search = buildIndex(tools);
      const found = queries
        .map(({ query, gold }) => ({ ...search.search(query, { limit: 10 }), gold }))
        .filter(({ results, gold }) => results.some(({ tool }) => gold.includes(tool.namespacedName)));
      return [name, found.filter(({ fitsPoorly }) => fitsPoorly).length / found.length] as const;
    });
    for (const [name, share] of shares)
      expect({ name, share, isRare: share < 0.09 }).toMatchObject({ isRare: true });
  });

  it("is known for all sets", () => {
    expect(readSearchSets(folder).map(({ name }) => name)).toEqual([
      "metatool",
      "metatool-multi",
      "sealtools",
    ]);
  });
});
