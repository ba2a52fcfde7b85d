import fc from "fast-check";
import { expect, test } from "vitest";
import {
  Arrivals,
  defaultCeiling,
  poolTarget,
  refillDelayMs,
  refillsAtOnce,
  shareBounds,
  startsAtOnce,
  untilLullMs,
} from "../../../sandbox/pool/pool-policy.ts";

const GIB = 1024 ** 3;

test.each([
  ["nobody comes", { arrivalsPerSecond: 0, bootMs: 500 }, 2],
  ["one comes now and then", { arrivalsPerSecond: 0.2, bootMs: 500 }, 2],
  ["one comes each second", { arrivalsPerSecond: 1, bootMs: 500 }, 2],
  ["three come each second", { arrivalsPerSecond: 3, bootMs: 500 }, 4],
  ["three come each second, and boots are slow", { arrivalsPerSecond: 3, bootMs: 1_000 }, 7],
  ["more come than there is room for", { arrivalsPerSecond: 100, bootMs: 500 }, 8],
])("when %s, as many wait as come during a boot, and some more", (_, demand, expected) => {
  expect(poolTarget({ floor: 2, ceiling: 8 }, demand)).toBe(expected);
});

const demands = fc.record({
  arrivalsPerSecond: fc.double({ min: 0, max: 1_000, noNaN: true }),
  bootMs: fc.double({ min: 0, max: 60_000, noNaN: true }),
});

test("the target stays within its bounds, grows with the demand, and is always 0 for a pool that is off", () => {
  fc.assert(
    fc.property(demands, fc.nat(64), fc.nat(64), fc.nat(100), (demand, floor, more, faster) => {
      const bounds = { floor, ceiling: floor + more };
      const target = poolTarget(bounds, demand);
      if (floor === 0) expect(target).toBe(0);
      else {
        expect(target).toBeGreaterThanOrEqual(floor);
        expect(target).toBeLessThanOrEqual(bounds.ceiling);
        const busier = { ...demand, arrivalsPerSecond: demand.arrivalsPerSecond + faster };
        expect(poolTarget(bounds, busier)).toBeGreaterThanOrEqual(target);
      }
    }),
  );
});

test.each([
  ["all wait and few come, one", { ready: 4, target: 4, most: 3 }, 0.5, 1],
  ["enough wait, as many as keep up", { ready: 2, target: 4, most: 3 }, 3, 2],
  ["enough wait but more come than can start, all that may be", { ready: 4, target: 8, most: 3 }, 50, 3],
  ["few wait, all that may be", { ready: 1, target: 4, most: 3 }, 0, 3],
  ["none waits, all that may be", { ready: 0, target: 2, most: 3 }, 0, 3],
])("of refills at once, while %s", (_, pool, arrivalsPerSecond, expected) => {
  expect(refillsAtOnce(pool, { arrivalsPerSecond, bootMs: 500, gapsMs: [] })).toBe(expected);
});

test.each([
  ["in rows, all that may be", [90, 90, 90, 2_000], 3],
  ["in rows that follow each other closely, as many as keep up", [90, 400, 90, 400, 400], 1],
  ["alone, as many as keep up", [Number.POSITIVE_INFINITY, 2_000], 1],
  ["as often in rows as so that a boot in the lull meets them, all that may be", [90, 400], 3],
  ["just as far apart as a lull is long, as many as keep up", [150, 150], 1],
  ["just as far apart as a lull and a boot are long, and in rows, all that may be", [90, 650, 650], 3],
])("of refills at once, after programs that came %s", (_, gapsMs, expected) => {
  const demand = { arrivalsPerSecond: 0.8, bootMs: 500, gapsMs };
  expect(refillsAtOnce({ ready: 4, target: 8, most: 3 }, demand)).toBe(expected);
});

test.each([
  ["nobody else comes, for long", 1, 0, 500],
  ["one comes now and then, for long", 1, 0.2, 500],
  ["those that wait outlast little more than two boots, for what is left", 3, 2.5, 200],
  ["one waits and one comes each second, for a moment", 1, 1, 40],
  ["many come, for a moment", 4, 20, 40],
  ["none waits, for a moment", 0, 0.2, 40],
])("when %s, a refill lets the program run that took a sandbox", (_, ready, arrivalsPerSecond, expected) => {
  expect(refillDelayMs(ready, { arrivalsPerSecond, bootMs: 500 })).toBe(expected);
});

const ALONE = Number.POSITIVE_INFINITY;
test.each([
  ["after the first one, for a moment", 3, 20, [ALONE], 130],
  ["in a row, until none has come for a moment", 3, 60, [ALONE, 90, 90], 90],
  ["of which many come at once, until none has come for a moment", 3, 0, [ALONE, 0, 0, 0, 400], 150],
  ["in a lull, no longer", 3, 150, [ALONE, 90, 90], 0],
  ["in a row, not at all while too few are ready", 1, 60, [ALONE, 90, 90], 0],
  ["that come steadily and would meet a boot begun later, not at all", 3, 20, [ALONE, 333, 333], 0],
  ["that come so seldom that no boot meets them, for a moment", 3, 20, [ALONE, 2_000, 3_000], 130],
  ["that come as often in rows as they would meet a boot begun later, for a moment", 3, 20, [90, 400], 130],
  ["that come just as far apart as a lull is long, not at all", 3, 20, [150, 150], 0],
  ["that come just as far apart as a lull and a boot are long, for a moment", 3, 20, [650, 650], 130],
  ["in a row, until none has come for a moment, with half of them ready", 2, 60, [ALONE, 90, 90], 90],
])("between programs %s, refills wait for a lull", (_, ready, sinceLastMs, gapsMs, expected) => {
  expect(untilLullMs({ ready, target: 4 }, { gapsMs, bootMs: 500 }, sinceLastMs)).toBe(expected);
});

test.each([
  [5, 8, 2, "3-4 2-4"],
  [0, 5, 3, "0-2 0-2 0-1"],
  [4, 32, 1, "4-32"],
  [2, 7, 2, "1-4 1-3"],
  [1, 1, 2, "1-1 0-0"],
  [0, 8, 1, "0-8"],
])(
  "%i to %i, shared by %i pools, are %s: the first ones get what is left over",
  (floor, ceiling, pools, expected) => {
    const shares = shareBounds({ floor, ceiling }, pools).map((share) => `${share.floor}-${share.ceiling}`);
    expect(shares.join(" ")).toBe(expected);
  },
);

test.each([
  [{ cores: 1, memoryBytes: 2 * GIB }, 4, 2],
  [{ cores: 2, memoryBytes: 24 * GIB }, 8, 3],
  [{ cores: 8, memoryBytes: 4 * GIB }, 8, 8],
  [{ cores: 64, memoryBytes: 512 * GIB }, 32, 8],
  [{ cores: 4, memoryBytes: GIB / 4 }, 1, 5],
])("on %j at most %i wait, and %i start at once", (machine, ceiling, starts) => {
  expect(defaultCeiling(machine)).toBe(ceiling);
  expect(startsAtOnce(machine)).toBe(starts);
});

test("the rate is that of the busiest five seconds of the last minute, and 0 after a minute in which nothing came", () => {
  const arrivals = new Arrivals();
  expect(arrivals.perSecond(0)).toBe(0);
  for (let nowMs = 0; nowMs < 5_000; nowMs += 500) arrivals.note(nowMs);
  for (let nowMs = 5_000; nowMs < 20_000; nowMs += 2_500) arrivals.note(nowMs);
  expect(arrivals.perSecond(20_000)).toBe(2);
  expect(arrivals.perSecond(64_000)).toBe(2);
  expect(arrivals.perSecond(66_000)).toBe(0.4);
  expect(arrivals.perSecond(100_000)).toBe(0);
});

test("the gaps before the last few are remembered, and how long ago one came or ended", () => {
  const arrivals = new Arrivals();
  expect([arrivals.sinceLastMs(50), arrivals.gapsMs]).toEqual([Number.POSITIVE_INFINITY, []]);
  for (const nowMs of [0, 100, 100]) arrivals.note(nowMs);
  arrivals.noteEnd(400);
  arrivals.note(700);
  expect(arrivals.gapsMs).toEqual([Number.POSITIVE_INFINITY, 100, 0, 300]);
  expect(arrivals.sinceLastMs(750)).toBe(50);
  arrivals.noteEnd(740);
  expect(arrivals.sinceLastMs(750)).toBe(10);
  for (let nowMs = 741; nowMs <= 748; nowMs++) arrivals.note(nowMs);
  expect(arrivals.gapsMs).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
});
