import { describe, test } from "vitest";
import { tries } from "../tries.ts";
import { loadTargets } from "./targets-here.ts";

const SEED = 1;
/** Of a target that says nothing else. */
const ITERATIONS = 160;
/** Counted in inputs and not in time: a busy machine takes longer and fails nothing. */
const TIMEOUT_MS = 900_000;

/** `npm run fuzz` goes on for hours. */
describe("nothing that comes from outside breaks the parser of", async () => {
  for (const { name, iterations = ITERATIONS, run } of await loadTargets())
    test(name, { timeout: TIMEOUT_MS }, () => run(SEED, tries(iterations)));
});
