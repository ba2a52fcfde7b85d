import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ratio } from "../figure.ts";
import type { Bench, Measurement } from "../measurement.ts";
import { makeProject, runProgram, servePtc } from "../peers/ptc.ts";

const ROWS = 25;
const FOLLOWERS = 3;
/** Sandboxes enough for a row, so that no run waits for one. */
const POOL = 8;
/** Long enough for the pool to be full again. */
const REFILL_MS = 2_000;
/** A sandbox that was taken is being replaced by then. */
const GAP_MS = 60;
/** A dozen calls: what a refill could slow down. */
const CODE = 'for (let i = 0; i < 12; i++) await mcp__echo__echo({ text: "x" });';

/** Runs that follow another so closely that its sandbox is being replaced meanwhile, against the first of such a row. */
export const refills: Measurement = {
  name: "refills",
  about: "p95 of runs during refills of the pool, against runs without",
  async measure(bench: Bench) {
    const settings = { sandbox: { warm: POOL } };
    const ptc = await servePtc(makeProject(join(bench.folder, "refills"), settings));
    const measuredMs: number[] = [];
    const baselineMs: number[] = [];
    for (let row = -2; row < bench.rounds(ROWS); row++) {
      await delay(REFILL_MS);
      const firstMs = await runProgram(ptc, CODE);
      const followingMs: number[] = [];
      for (let i = 0; i < FOLLOWERS; i++) {
        await delay(GAP_MS);
        followingMs.push(await runProgram(ptc, CODE));
      }
      if (row < 0) continue;
      baselineMs.push(firstMs);
      measuredMs.push(...followingMs);
    }
    await ptc.close();
    const compared = { measuredMs, baselineMs, against: "without refills" };
    return [
      ratio({ name: "runs during refills, p95", ...compared, at: 0.95, maxRatio: 1.5 }),
      ratio({ name: "runs during refills, p50", ...compared }),
    ];
  },
};
