import { describe, expect, test } from "vitest";
import type { Judged } from "../agreement.ts";
import { CONSTRUCTS } from "../constructs.ts";
import { listingOf } from "../list-tools.ts";
import { toolLists, toolListsPresent, whyToolListsAreSkipped } from "../tool-lists.ts";
import { measurePythonAgreement } from "./python-agreement.ts";

function show(judged: readonly Judged[]): string[] {
  return judged.map(({ tool, role, keywords, value }) =>
    [tool, role, keywords.join(), JSON.stringify(value).slice(0, 300)].join(" "),
  );
}

describe("generated stubs and the validator", () => {
  test("agree on values of every construct that a type can express", async () => {
    const tools = Object.entries(CONSTRUCTS).map(([name, inputSchema]) => ({ name, inputSchema }));
    const { accepted, refused, unsampled, schemas } = await measurePythonAgreement([listingOf(tools)], 40);
    expect(unsampled).toEqual([]);
    expect(schemas).toBe(tools.length);
    expect(show(accepted.filter(({ typeChecks }) => !typeChecks))).toEqual([]);
    expect(show(refused.filter(({ typeChecks }) => typeChecks))).toEqual([]);
  });

  test.skipIf(!toolListsPresent)(
    `agree on values of all schemas of real servers, and have no finding of pyright themselves${whyToolListsAreSkipped}`,
    async () => {
      const { accepted, refused, unsampled, schemas } = await measurePythonAgreement(toolLists, 2);
      const lost = accepted.filter(({ typeChecks }) => !typeChecks);
      const passed = refused.filter(({ typeChecks }) => typeChecks);
      console.log(
        `${schemas} schemas: ${accepted.length - lost.length} of ${accepted.length} accepted values type-check, ` +
          `${refused.length - passed.length} of ${refused.length} values refused for their shape do not`,
      );
      expect(unsampled.length / schemas).toBeLessThan(0.005);
      expect(accepted.length).toBeGreaterThan(3_000);
      expect(refused.length).toBeGreaterThan(3_000);
      expect(show(lost)).toEqual([]);
      expect(show(passed).slice(0, 20)).toEqual([]);
    },
  );
});
