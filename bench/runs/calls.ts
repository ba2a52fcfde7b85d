import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ratio } from "../figure.ts";
import type { Bench, Measurement } from "../measurement.ts";
import { serveMcp, timeCall } from "../peers/mcp-client.ts";
import { ECHO_SERVER, makeProject, runProgram, servePtc } from "../peers/ptc.ts";

const ROUNDS = 15;
const CALLS = 100;
const REFILL_MS = 700;
const CALL = 'mcp__echo__echo({ text: "x" })';
const IN_TURN = `for (let i = 0; i < ${CALLS}; i++) await ${CALL};`;
const AT_ONCE = `await Promise.all(Array.from({ length: ${CALLS} }, () => ${CALL}));`;

/** A program's calls, the run around them included, against the same calls of a bare client to the same server. */
export const calls: Measurement = {
  name: "calls",
  about: `${CALLS} calls in turn and at once, against a bare MCP client`,
  async measure(bench: Bench) {
    const ptc = await servePtc(makeProject(join(bench.folder, "calls"), { sandbox: { warm: 4 } }));
    const bare = await serveMcp(process.execPath, [ECHO_SERVER]);
    const echo = () => timeCall(bare, "echo", { text: "x" });
    const inTurn = { measuredMs: [] as number[], baselineMs: [] as number[] };
    const atOnce = { measuredMs: [] as number[], baselineMs: [] as number[] };
    for (let round = -2; round < bench.rounds(ROUNDS); round++) {
      await delay(REFILL_MS);
      // The bare client comes first: what follows a run, a sandbox for the next one, takes a core for half a second.
      const bareInTurn = await time(async () => {
        for (let i = 0; i < CALLS; i++) await echo();
      });
      const measuredInTurn = await runProgram(ptc, IN_TURN);
      await delay(REFILL_MS);
      const bareAtOnce = await time(() => Promise.all(Array.from({ length: CALLS }, echo)));
      const measuredAtOnce = await runProgram(ptc, AT_ONCE);
      if (round < 0) continue;
      inTurn.measuredMs.push(measuredInTurn);
      inTurn.baselineMs.push(bareInTurn);
      atOnce.measuredMs.push(measuredAtOnce);
      atOnce.baselineMs.push(bareAtOnce);
    }
    await Promise.all([ptc.close(), bare.close()]);
    const against = "a bare client with the same server";
    return [
      ratio({ name: `${CALLS} calls in turn`, ...inTurn, against, maxRatio: 4 }),
      ratio({ name: `${CALLS} calls at once`, ...atOnce, against, maxRatio: 3 }),
    ];
  },
};

async function time(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
