import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RetryPause } from "../../../sandbox/pool/warm-pool.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** How long a pause lasts that begins now. */
function lengthOf(pause: RetryPause): number {
  const startedAt = Date.now();
  pause.fail();
  while (pause.active) vi.advanceTimersByTime(1);
  return Date.now() - startedAt;
}

test("pauses double up to half a minute, and are short again after a success", () => {
  const onOver = vi.fn();
  const pause = new RetryPause(onOver);
  expect(Array.from({ length: 8 }, () => lengthOf(pause))).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
  ]);
  expect(onOver).toHaveBeenCalledTimes(8);
  pause.succeed();
  expect(lengthOf(pause)).toBe(500);
});

test("a failure during a pause does not lengthen it", () => {
  const pause = new RetryPause(() => {});
  pause.fail();
  pause.fail();
  vi.advanceTimersByTime(500);
  expect(pause.active).toBe(false);
  expect(lengthOf(pause)).toBe(1_000);
});
