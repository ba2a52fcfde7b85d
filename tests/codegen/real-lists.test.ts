import { describe, expect, test } from "vitest";
import { type GenerationPlan, planGeneration } from "../../generation/generate-plan.ts";
import { namespacedName, serverModule } from "../../protocol/tool-names.ts";
import { compileGenerated } from "./compile-generated.ts";
import { parseModule } from "./parse-module.ts";
import { toolLists, toolListsPresent, whyToolListsAreSkipped } from "./tool-lists.ts";

const listings = toolLists;

/** The plan for all of them, made once. */
let planned: Promise<GenerationPlan> | undefined;
function planAll(): Promise<GenerationPlan> {
  planned ??= planGeneration({ listings });
  return planned;
}

describe.skipIf(!toolListsPresent)(`the tool lists of real servers${whyToolListsAreSkipped}`, () => {
  test("no tool is lost, and every function calls its tool by its exact name", async () => {
    expect(listings.length).toBeGreaterThan(0);
    const { files, warnings } = await planAll();
    for (const { name, tools } of listings) {
      const module = serverModule(name);
      const statements = parseModule(files.get(`servers/${module}/index.ts`) ?? "");
      const called = statements.flatMap((statement) => (statement.kind === "tool" ? [statement.calls] : []));
      const listed = tools.map((tool) => namespacedName(module, (tool as { name: string }).name));
      expect(called.sort()).toEqual([...new Set(listed)].sort());
      const names = statements.flatMap((statement) => ("name" in statement ? [statement.name] : []));
      expect(new Set(names).size).toBe(names.length);
    }
    expect(warnings).toEqual([]);
  });

  test("the whole output passes the strictest settings of TypeScript", async () => {
    const { files } = await planAll();
    const sources = new Map([...files].filter(([path]) => path.endsWith(".ts")));
    expect(compileGenerated(sources)).toEqual([]);
  });

  test("the same lists give the same bytes, in whatever order they come", async () => {
    const first = await planAll();
    const shuffled = listings
      .map((listing) => ({ ...listing, tools: listing.tools.toReversed() }))
      .toReversed();
    const second = await planGeneration({ listings: shuffled });
    expect([...second.files]).toEqual([...first.files]);
  });

  test("generating again from what was stored changes nothing", async () => {
    const first = await planAll();
    const keep = listings.map((listing) => listing.name);
    const again = await planGeneration({ listings: [], previous: first, keep });
    expect([...again.files]).toEqual([...first.files]);
  });
});
