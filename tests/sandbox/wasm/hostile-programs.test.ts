import { afterAll, beforeAll, describe, test } from "vitest";
import { tries } from "../../tries.ts";
import type { ProgramCampaign } from "../programs/program-campaign.ts";
import { openHostileCampaign } from "./hostile-campaign.ts";
import { builtWasmRunner } from "./runner-files.ts";

const PROGRAMS = tries(20);
const FIRST_SEED = 1;
const TIMEOUT_MS = 300_000;
/** Runs the program of this seed alone. */
const ONLY = process.env.PTC_PROGRAM_SEED;
const SEEDS = ONLY ? [Number(ONLY)] : Array.from({ length: PROGRAMS }, (_, i) => FIRST_SEED + i);

const folder = await builtWasmRunner();

/** `npm run fuzz -- --target wasm` goes on for hours. */
describe("a program that tries to get out of its interpreter finds nothing of the machine, and breaks its own run at most", () => {
  let campaign: ProgramCampaign;
  beforeAll(async () => {
    campaign = await openHostileCampaign(folder);
  });
  afterAll(() => campaign.close());

  test.each(SEEDS)("of seed %i", { timeout: TIMEOUT_MS }, async (seed) => {
    await campaign.run(seed);
  });
});
