import { describe, expect, test } from "vitest";
import { type Agreement, type Judged, measureAgreement } from "./agreement.ts";
import { CONSTRUCTS } from "./constructs.ts";
import { listingOf } from "./list-tools.ts";
import { toolLists, toolListsPresent, whyToolListsAreSkipped } from "./tool-lists.ts";

function show(judged: readonly Judged[]): string[] {
  return judged.map(({ tool, role, keywords, value }) =>
    [tool, role, keywords.join(), JSON.stringify(value).slice(0, 300)].join(" "),
  );
}

function wrong({ accepted, refused }: Agreement) {
  return {
    accepted: accepted.filter(({ typeChecks }) => !typeChecks),
    refused: refused.filter(({ typeChecks }) => typeChecks),
  };
}

describe("generated types and the validator", () => {
  test("agree on values of every construct that a type can express", async () => {
    const tools = Object.entries(CONSTRUCTS).map(([name, inputSchema]) => ({ name, inputSchema }));
    const agreement = await measureAgreement([listingOf(tools)], 40);
    const { accepted, refused } = wrong(agreement);
    expect(agreement.unsampled).toEqual([]);
    expect(agreement.schemas).toBe(tools.length);
    expect(show(accepted)).toEqual([]);
    expect(show(refused)).toEqual([]);
    const refusedOf = new Set(agreement.refused.map(({ tool }) => tool));
    expect(tools.filter(({ name }) => !refusedOf.has(`demo ${name}`)).map(({ name }) => name)).toEqual([]);
  });

  test.skipIf(!toolListsPresent)(
    `agree on values of all schemas of real servers${whyToolListsAreSkipped}`,
    async () => {
      const agreement = await measureAgreement(toolLists, 3);
      const { accepted, refused } = wrong(agreement);
      const agreeing = (all: readonly Judged[], not: readonly Judged[]): string =>
        `${all.length - not.length} of ${all.length}`;
      console.log(
        `${agreement.schemas} schemas: ${agreeing(agreement.accepted, accepted)} accepted values type-check, ` +
          `${agreeing(agreement.refused, refused)} values refused for their shape do not`,
      );
      expect(agreement.unsampled.length / agreement.schemas).toBeLessThan(0.005);
      expect(agreement.accepted.length).toBeGreaterThan(5_000);
      expect(agreement.refused.length).toBeGreaterThan(5_000);
      expect(show(accepted)).toEqual([]);
      expect(1 - refused.length / agreement.refused.length).toBeGreaterThan(0.999);
    },
  );
});
