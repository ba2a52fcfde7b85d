import { afterAll, beforeAll, test } from "vitest";
import { tries } from "../../tries.ts";
import { describeSandboxed } from "../in-sandbox.ts";
import { PRELUDE } from "./generated-programs.ts";
import { ProgramCampaign } from "./program-campaign.ts";

/** `npm run fuzz -- --target programs` goes on for hours. */
const PROGRAMS = tries(8);
const FIRST_SEED = 1;
/** Runs the program of this seed alone. */
const ONLY = process.env.PTC_PROGRAM_SEED;
const SEEDS = ONLY ? [Number(ONLY)] : Array.from({ length: PROGRAMS }, (_, i) => FIRST_SEED + i);

/** Programs that once broke more than their own run. */
const KNOWN: [name: string, code: string][] = [
  [
    "an infinite number in a claim",
    `print(1, '{"ok":true,"data":1e400,"from":"result"}\\n'); process.reallyExit(0);`,
  ],
  [
    "an infinite number in a call that nobody waits for",
    `send('{"type":"call","id":900,"tool":"mcp__desk__echo","arguments":{"n":1e400}}'); await sleep(200);`,
  ],
  [
    "an infinite number in a trace",
    `send('{"type":"trace","trace":{"started_ms":1e400,"clock":"","events":"","complete":true}}'); await sleep(200);`,
  ],
];

describeSandboxed("a hostile program breaks its own run at most", () => {
  let campaign: ProgramCampaign;
  beforeAll(() => {
    campaign = new ProgramCampaign();
  });
  afterAll(() => campaign.close());

  test.each(SEEDS)("of seed %i", { timeout: 300_000 }, async (seed) => {
    await campaign.run(seed);
  });

  if (ONLY) return;
  test.each(KNOWN)("with %s", { timeout: 300_000 }, async (name, code) => {
    const outcomes = new Set(["ContractViolation"] as const);
    await campaign.runProgram({ code: `${PRELUDE}/* */ ${code}`, tricks: [name], outcomes }, name);
  });
});
