import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { doublingPause, GrowingPause, RetryPause } from "../../base/backoff.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a pause doubles from the first to the longest, and stays there", () => {
  const bounds = { firstMs: 500, longestMs: 3_000 };
  expect([0, 1, 2, 3, 4, 5_000].map((doublings) => doublingPause(bounds, doublings))).toEqual([
    500, 1_000, 2_000, 3_000, 3_000, 3_000,
  ]);
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

const BOUNDS = { firstMs: 500, longestMs: 30_000 };

/** How long a pause lasts that begins now. */
function lengthOf(pause: RetryPause): number {
  const startedAt = Date.now();
  pause.fail();
  while (pause.active) vi.advanceTimersByTime(1);
  return Date.now() - startedAt;
}

test("pauses of what is retried double up to the longest, and are short again after a success", () => {
  const onOver = vi.fn();
  const pause = new RetryPause(BOUNDS, onOver);
  expect(Array.from({ length: 8 }, () => lengthOf(pause))).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
  ]);
  expect(onOver).toHaveBeenCalledTimes(8);
  pause.succeed();
  expect(lengthOf(pause)).toBe(500);
});

test("a failure during a pause does not lengthen it", () => {
  const pause = new RetryPause(BOUNDS, () => {});
  pause.fail();
  pause.fail();
  vi.advanceTimersByTime(500);
  expect(pause.active).toBe(false);
  expect(lengthOf(pause)).toBe(1_000);
});
