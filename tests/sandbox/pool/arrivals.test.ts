import { expect, test } from "vitest";
import { Arrivals } from "../../../sandbox/pool/warm-pool.ts";

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
