import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ratio } from "../figure.ts";
import type { Bench, Measurement } from "../measurement.ts";
import type { Served } from "../peers/mcp-client.ts";
import { makeProject, runProgram, servePtc } from "../peers/ptc.ts";

/** Sandboxes enough for a short row, so that no run waits for one. */
const POOL = 8;
/** Refills can wait for the end of a short row. In a long one too few sandboxes are left for that after the fifth run. */
const SHORT = { rows: 25, followers: 3, comparedFrom: 0, refillMs: 2_000 };
const LONG = { rows: 10, followers: 9, comparedFrom: 4, refillMs: 4_000 };
/** Between the end of a run and the next one: the boot of a sandbox that replaced the one before would be under way. */
const GAP_MS = 60;
/** A dozen calls: what a refill could slow down. */
const CODE = 'for (let i = 0; i < 12; i++) await mcp__echo__echo({ text: "x" });';

/** Runs that follow another closely, whose sandbox has to be replaced, against the first of such a row. */
export const refills: Measurement = {
  name: "refills",
  about: "p95 of runs during refills of the pool, against runs without",
  async measure(bench: Bench) {
    const settings = { sandbox: { warm: POOL } };
    const ptc = await servePtc(makeProject(join(bench.folder, "refills"), settings));
    const short = await measureRows(bench, ptc, SHORT);
    const long = await measureRows(bench, ptc, LONG);
    await ptc.close();
    return [
      ratio({ name: "runs during refills, p95", ...short, at: 0.95, maxRatio: 1.5 }),
      ratio({ name: "runs during refills, p50", ...short }),
      ratio({ name: "runs during refills that cannot wait, p95", ...long, at: 0.95, maxRatio: 1.5 }),
      ratio({ name: "runs during refills that cannot wait, p50", ...long }),
    ];
  },
};

async function measureRows(
  bench: Bench,
  ptc: Served,
  { rows, followers, comparedFrom, refillMs }: typeof SHORT,
) {
  const measuredMs: number[] = [];
  const baselineMs: number[] = [];
  for (let row = -2; row < bench.rounds(rows); row++) {
    await delay(refillMs);
    const firstMs = await runProgram(ptc, CODE);
    const followingMs: number[] = [];
    for (let i = 0; i < followers; i++) {
      await delay(GAP_MS);
      followingMs.push(await runProgram(ptc, CODE));
    }
    if (row < 0) continue;
    baselineMs.push(firstMs);
    measuredMs.push(...followingMs.slice(comparedFrom));
  }
  return { measuredMs, baselineMs, against: "without refills" };
}
