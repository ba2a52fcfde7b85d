import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { doublingPause, GrowingPause } from "../../base/backoff.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function begin(pause: GrowingPause): number {
  pause.begin();
  return pause.waitMs();
}

test("the first attempt may begin at once", () => {
  expect(new GrowingPause().waitMs()).toBeLessThanOrEqual(0);
});

test("the wait grows while attempts follow each other closely, up to half a minute", () => {
  const pause = new GrowingPause();
  const waits = Array.from({ length: 8 }, () => {
    const waitMs = begin(pause);
    vi.advanceTimersByTime(waitMs);
    return waitMs;
  });
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

test("the wait is short after a quiet time that is as long as the wait was, and not before", () => {
  const pause = new GrowingPause();
  for (let i = 0; i < 3; i++) pause.begin();
  vi.advanceTimersByTime(2 * 4_000 - 1);
  expect(begin(pause)).toBe(8_000);
  vi.advanceTimersByTime(2 * 8_000);
  expect(begin(pause)).toBe(1_000);
});

test("the wait counts from the end of the attempt", () => {
  const pause = new GrowingPause();
  pause.begin();
  vi.advanceTimersByTime(600);
  expect(pause.waitMs()).toBe(400);
  pause.restart();
  expect(pause.waitMs()).toBe(1_000);
});

test("a pause doubles from the first to the longest, and stays there", () => {
  const bounds = { firstMs: 500, longestMs: 3_000 };
  expect([0, 1, 2, 3, 4, 5_000].map((doublings) => doublingPause(bounds, doublings))).toEqual([
    500, 1_000, 2_000, 3_000, 3_000, 3_000,
  ]);
});
