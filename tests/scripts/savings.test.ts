import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CONVERSATIONS } from "../../scripts/docs/savings/conversations.ts";
import { countSavings } from "../../scripts/docs/savings/count-savings.ts";

const RECIPES = join(import.meta.dirname, "../../examples/recipes");

describe("what the examples save", () => {
  it("is counted for each of them", async () => {
    const programs = readdirSync(RECIPES).filter((name) => /\.(?:ts|py)$/.test(name));
    expect(CONVERSATIONS.map(({ program }) => program).sort()).toEqual(programs.sort());
  });

  it("is counted of searches that show every tool the program calls", async () => {
    for (const { program, unseen } of await countSavings())
      expect({ program, unseen }).toMatchObject({ unseen: [] });
  });

  it("counts more definitions for more servers, and one turn more for a search", async () => {
    for (const { everything, direct, searched } of await countSavings()) {
      expect(everything.tokens).toBeGreaterThan(direct.tokens);
      expect(direct.tokens).toBeGreaterThan(searched.tokens);
      expect([everything.turns, direct.turns]).toEqual([searched.turns - 1, searched.turns - 1]);
    }
  });

  it("is not much where a tool is called once, and much where the result is large", async () => {
    const savings = new Map((await countSavings()).map((each) => [each.program, each]));
    const [small, large] = ["retry.py", "large-data.py"].map((program) => savings.get(program));
    expect(small?.ptc.tokens).toBeGreaterThan(small?.direct.tokens ?? 0);
    expect(large?.searched.tokens).toBeGreaterThan(10 * (large?.ptc.tokens ?? Number.POSITIVE_INFINITY));
  });
});
