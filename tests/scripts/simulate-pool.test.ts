import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { printCases, simulate, USUAL } from "../../scripts/simulate-pool.ts";

const SHORT = { minutes: 2, seed: 3 };

test("the page on scale shows what the simulation prints", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/scale.md"), "utf8");
  expect(page, "node scripts/simulate-pool.ts prints the table").toContain(printCases());
});

test("the same seed gives the same, and another one other programs", () => {
  const cluster = { ...USUAL, rate: 300, pods: 10 };
  expect(simulate(cluster, SHORT)).toEqual(simulate(cluster, SHORT));
  expect(simulate(cluster, { ...SHORT, seed: 4 })).not.toEqual(simulate(cluster, SHORT));
});

test("nobody waits longer than for a claim while there are pods, and everybody while there are none", () => {
  const idle = simulate({ ...USUAL, rate: 30, pods: 20 }, SHORT);
  expect(idle.p99).toBeCloseTo(USUAL.claimS);
  const none = simulate({ ...USUAL, rate: 30, pods: 1, bootS: 3, runS: 0.1 }, SHORT);
  expect(none.p99).toBeGreaterThan(1);
});

test("programs beyond what pods are made for are refused, and places limit how many run", () => {
  expect(simulate({ ...USUAL, rate: 3_000 }, { ...SHORT, minutes: 5 }).refused).toBeGreaterThan(0.3);
  const few = simulate({ ...USUAL, rate: 60, places: 2, runS: 3, spread: 0 }, SHORT);
  expect(few.p99).toBeGreaterThan(5);
  expect(few.mostPods).toBeLessThanOrEqual(USUAL.pods + 2);
});
