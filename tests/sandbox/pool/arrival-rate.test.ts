import { expect, test } from "vitest";
import { ArrivalRate } from "../../../sandbox/pool/arrival-rate.ts";

test("the rate is that of the busiest five seconds of the last minute, and 0 after a minute in which nothing came", () => {
  const rate = new ArrivalRate();
  expect(rate.perSecond(0)).toBe(0);
  for (let nowMs = 0; nowMs < 5_000; nowMs += 500) rate.note(nowMs);
  for (let nowMs = 5_000; nowMs < 20_000; nowMs += 2_500) rate.note(nowMs);
  expect(rate.perSecond(20_000)).toBe(2);
  expect(rate.perSecond(64_000)).toBe(2);
  expect(rate.perSecond(66_000)).toBe(0.4);
  expect(rate.perSecond(100_000)).toBe(0);
});
