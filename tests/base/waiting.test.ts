import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { inTime, orAborted, settlesWithin, untilAborted } from "../../base/waiting.ts";

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

const abortion = () => new Error("gone");

test("settles as the work does, and leaves no listener behind", async () => {
  const { signal } = new AbortController();
  expect(await orAborted(Promise.resolve("done"), signal, abortion)).toBe("done");
  await expect(orAborted(Promise.reject(new Error("failed")), signal, abortion)).rejects.toThrow("failed");
  expect(await orAborted(Promise.resolve("done"), undefined, abortion)).toBe("done");
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("is aborted by a signal that comes, and by one that has come", async () => {
  const controller = new AbortController();
  const waiting = expect(orAborted(never, controller.signal, abortion)).rejects.toThrow("gone");
  controller.abort();
  await waiting;
  await expect(orAborted(never, controller.signal, abortion)).rejects.toThrow("gone");
});

test("waiting until the signal comes settles as the work does, and leaves no listener behind", async () => {
  const { signal } = new AbortController();
  expect(await untilAborted(Promise.resolve("done"), signal)).toBe("done");
  await expect(untilAborted(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

test("waiting until the signal comes is undefined when it comes, and when it has come", async () => {
  const controller = new AbortController();
  const waiting = untilAborted(never, controller.signal);
  controller.abort();
  expect(await waiting).toBeUndefined();
  expect(await untilAborted(never, controller.signal)).toBeUndefined();
  expect(await untilAborted(Promise.resolve("done"), controller.signal)).toBeUndefined();
});

test("work that fails after the signal has come is nobody's unhandled rejection", async () => {
  const controller = new AbortController();
  const failLater = () => setImmediate().then(() => Promise.reject(new Error("late")));
  const waiting = untilAborted(failLater(), controller.signal);
  controller.abort();
  expect(await waiting).toBeUndefined();
  expect(await untilAborted(failLater(), controller.signal)).toBeUndefined();
  await setImmediate();
  await setImmediate();
});
