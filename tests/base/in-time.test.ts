import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inTime, settlesWithin } from "../../base/in-time.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<never>(() => {});
const late = () => new Error("late");

test("gives what the work gives, and leaves no timer behind", async () => {
  expect(await inTime(Promise.resolve("done"), 1_000, late)).toBe("done");
  await expect(inTime(Promise.reject(new Error("failed")), 1_000, late)).rejects.toThrow("failed");
  expect(await settlesWithin(Promise.resolve(), 1_000)).toBe(true);
  expect(await settlesWithin(Promise.reject(new Error("failed")), 1_000)).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test("is late when the time is over, also where it was over before", async () => {
  const failed = expect(inTime(never, 1_000, late)).rejects.toThrow("late");
  const settled = settlesWithin(never, 1_000);
  await vi.advanceTimersByTimeAsync(1_000);
  await failed;
  expect(await settled).toBe(false);
  const over = expect(inTime(never, -1, late)).rejects.toThrow("late");
  await vi.advanceTimersByTimeAsync(1);
  await over;
});
