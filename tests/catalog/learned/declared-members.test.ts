import { describe, expect, it } from "vitest";
import { seededRandom, ValueSampler } from "../../codegen/sample-values.ts";
import { toolLists, toolListsPresent, whyToolListsAreSkipped } from "../../codegen/tool-lists.ts";
import { compareWithDeclared } from "./declared-members.ts";

/** Output schemas that tools of real servers declare. */
const schemas = toolLists.flatMap(({ tools }) =>
  tools.flatMap((tool) => (tool as { outputSchema?: unknown }).outputSchema ?? []),
);

describe.skipIf(!toolListsPresent)(`what real servers declare${whyToolListsAreSkipped}`, () => {
  it.each([
    [1, 0.6],
    [3, 0.85],
    [10, 0.97],
  ])("is found in %i calls, as far as results have it, and nothing else is", (calls, share) => {
    let declared = 0;
    let found = 0;
    const undeclared: string[] = [];
    for (const [i, schema] of schemas.entries()) {
      const sampler = new ValueSampler(schema, seededRandom(i));
      const results = Array.from({ length: calls }, () => sampler.sample(schema));
      const compared = compareWithDeclared(schema, results);
      declared += compared.declared;
      found += compared.found;
      undeclared.push(...compared.undeclared);
    }
    expect(schemas.length).toBeGreaterThan(100);
    expect(undeclared).toEqual([]);
    expect(found / declared).toBeGreaterThan(share);
  });
});
