import { countSavings, type Reading } from "../../scripts/docs/savings/count-savings.ts";
import type { Figure } from "../figure.ts";

/** What all examples together must save, at least. */
const MIN_AGAINST_ALL = 8;
const MIN_AGAINST_SEARCH = 2;

/** What a model reads to do what the examples do, without ptc and with it, in tokens and in turns. */
export async function measureExamples(): Promise<Figure[]> {
  const savings = await countSavings();
  const unseen = savings.flatMap(({ unseen }) => unseen);
  if (unseen.length > 0) throw new Error(`searches of the examples do not show ${unseen.join(", ")}`);
  const [everything, direct, searched, ptc] = (["everything", "direct", "searched", "ptc"] as const).map(
    (way) => sum(savings.map((each) => each[way])),
  ) as [Reading, Reading, Reading, Reading];
  return [
    share("all examples, six servers up front", everything, ptc, MIN_AGAINST_ALL),
    share("all examples, the servers of each up front", direct, ptc),
    share("all examples, by tool search", searched, ptc, MIN_AGAINST_SEARCH),
    ...savings.flatMap(({ program, everything, direct, searched, ptc }) => [
      share(`${program}, six servers up front`, everything, ptc),
      share(`${program}, its servers up front`, direct, ptc),
      share(`${program}, by tool search`, searched, ptc),
    ]),
  ];
}

function share(name: string, without: Reading, ptc: Reading, atLeast?: number): Figure {
  return {
    name: `read for ${name}`,
    value: without.tokens / ptc.tokens,
    unit: "times",
    against: "ptc",
    ...(atLeast === undefined ? {} : { bound: { atLeast } }),
    detail: `${without.tokens} to ${ptc.tokens} tokens (o200k), ${without.turns} to ${ptc.turns} turns`,
  };
}

function sum(readings: readonly Reading[]): Reading {
  const add = (what: keyof Reading) => readings.reduce((total, each) => total + each[what], 0);
  return { tokens: add("tokens"), turns: add("turns") };
}
