import { test } from "vitest";
import { tries } from "../tries.ts";
import { loadTargets } from "./targets-here.ts";

/** Few enough for every run of the fast tests. fuzz.test.ts tries more and measures what they do to the process; `npm run fuzz` goes on for hours. */
const ITERATIONS = 30;
/** Of targets whose inputs take less than a millisecond. */
const OFTEN: Readonly<Record<string, number>> = {
  json: 600,
  series: 400,
  claims: 300,
  frames: 300,
};

for (const { name, sample } of await loadTargets()) {
  if (sample === undefined) continue;
  test(`a sample of inputs leaves the parser of ${name} whole`, () =>
    sample(tries(OFTEN[name] ?? ITERATIONS)));
}
