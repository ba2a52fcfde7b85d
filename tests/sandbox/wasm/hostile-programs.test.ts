import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";
import { ProcessEngine } from "../../runner-image/process-engine.ts";
import { tries } from "../../tries.ts";
import { programInInterpreter } from "../programs/generated-programs.ts";
import type { ProgramCampaign } from "../programs/program-campaign.ts";
import { openHostileCampaign } from "./hostile-campaign.ts";
import { builtWasmRunner } from "./runner-files.ts";

const PROGRAMS = tries(10);
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
    campaign = await openHostileCampaign(new WasmEngine({ folder }));
  });
  afterAll(() => campaign.close());

  test.each(SEEDS)("of seed %i", { timeout: TIMEOUT_MS }, async (seed) => {
    await campaign.run(seed);
  });
});

test("the same programs find the machine where there is no wall, and are found out", {
  timeout: TIMEOUT_MS,
}, async () => {
  const campaign = await openHostileCampaign(new ProcessEngine());
  try {
    for (const code of ["leave(() => {});", "leave(process.getBuiltinModule);"])
      await expect(campaign.runProgram(programInInterpreter(code), code)).rejects.toThrow(
        /has read something of this machine|has run code outside|has reached the network|has changed a file/,
      );
  } finally {
    await campaign.close();
  }
});
