import { describe, expect, it } from "vitest";
import { KEYED_TOOLS } from "./keyed-tools.ts";
import type { MadeUpTool } from "./made-up-tool.ts";
import { measureMadeUp } from "./measure-made-up.ts";
import { PLAIN_TOOLS } from "./plain-tools.ts";

const SEEDS = [1, 2, 3];

function measureAll(keys: MadeUpTool["keys"], calls: number) {
  const tools = [...PLAIN_TOOLS, ...KEYED_TOOLS].filter((tool) => tool.keys === keys);
  const measures = tools.flatMap((tool) => SEEDS.map((seed) => measureMadeUp(tool, calls, seed)));
  const sum = (of: (each: (typeof measures)[number]) => number) =>
    measures.reduce((total, each) => total + of(each), 0);
  return {
    share: sum(({ found }) => found) / sum(({ members }) => members),
    foreign: measures.flatMap(({ tool, foreign }) => foreign.map((path) => `${tool}: ${path}`)),
    leaked: measures.flatMap(({ tool, leaked }) => leaked.map((text) => `${tool}: ${text}`)),
  };
}

/** Keys of maps, calls, and the share of members that is found at least. */
const CASES = [
  ["plain", 1, 0.65],
  ["plain", 3, 0.8],
  ["plain", 10, 0.9],
  ["data", 1, 0.9],
  ["data", 3, 0.97],
  ["data", 10, 0.99],
  ["words", 10, 0.99],
] as const;

describe("tools that nobody has", () => {
  it("are learned without a name that is data", () => {
    for (const [keys, calls, share] of CASES) {
      const measured = measureAll(keys, calls);
      expect(measured, `${keys}, ${calls} calls`).toMatchObject({ foreign: [], leaked: [] });
      expect(measured.share, `${keys}, ${calls} calls`).toBeGreaterThan(share);
    }
  });
});
