import { test } from "vitest";
import { loadTargets } from "./targets-here.ts";

/** Few enough for every run of the fast tests. fuzz.test.ts tries more, and measures what they do to the process. */
for (const { name, sample } of await loadTargets())
  if (sample !== undefined) test(`a sample of inputs leaves the parser of ${name} whole`, sample);
