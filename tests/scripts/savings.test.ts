import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CONVERSATIONS } from "../../scripts/docs/savings/conversations.ts";
import { countSavings } from "../../scripts/docs/savings/count-savings.ts";

import { toolListsFolder, toolListsPresent, whyToolListsAreSkipped } from "../codegen/tool-lists.ts";

const ROOT = join(import.meta.dirname, "../..");
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

  it.skipIf(!toolListsPresent)(
    `is in docs/savings.md with more tools as it is counted${whyToolListsAreSkipped}`,
    () => {
      const args = ["scripts/savings-by-tools.ts", "--lists", toolListsFolder];
      const counted = execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", stdio: "pipe" });
      const [, shown] = /<!-- by tools[^\n]*\n([\s\S]*?)<!-- \/by tools -->/.exec(
        readFileSync(join(ROOT, "docs/savings.md"), "utf8"),
      ) ?? [""];
      expect(counted.split("\n")).toHaveLength(6);
      expect(shown).toBe(counted);
    },
  );
});
