import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { orAborted, untilAborted } from "../../base/or-aborted.ts";

const abortion = () => new Error("gone");
const never = new Promise<never>(() => {});

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
