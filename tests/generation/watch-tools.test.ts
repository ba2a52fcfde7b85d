import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type ConfiguredServers, ToolChanges, watchTools } from "../../generation/list-servers.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** What follows the tools of one server, which announces a change whenever it is told to. */
function follow(again: () => Promise<boolean>) {
  let announce = () => {};
  const upstream = {
    onToolsChanged(listener: () => void) {
      announce = listener;
    },
  };
  const pool = { get: () => upstream } as unknown as ConfiguredServers;
  const stop = new AbortController();
  const ended = watchTools(new ToolChanges(pool, [{ name: "x" }]), stop.signal, true, again);
  return { announce: () => announce(), stop: () => stop.abort(), ended };
}

it("generates seldom for a server that announces changes without end", async () => {
  let times = 0;
  const { announce, stop, ended } = follow(async () => {
    times++;
    return true;
  });
  for (let ms = 0; ms < 600_000; ms += 50) {
    announce();
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(times).toBeGreaterThan(10);
  expect(times).toBeLessThan(30);
  announce();
  stop();
  await ended;
});

it("generates at once for a change after a calm", async () => {
  let times = 0;
  const { announce, stop, ended } = follow(async () => {
    times++;
    return true;
  });
  for (let round = 1; round <= 5; round++) {
    announce();
    await vi.advanceTimersByTimeAsync(1);
    expect(times).toBe(round);
    await vi.advanceTimersByTimeAsync(60_000);
  }
  stop();
  await ended;
});

it("asks a server that could not be asked again every few seconds, however long that goes on", async () => {
  let times = 0;
  const { announce, stop, ended } = follow(async () => {
    times++;
    return false;
  });
  announce();
  await vi.advanceTimersByTimeAsync(100_000);
  expect(times).toBeGreaterThan(40);
  stop();
  await ended;
});
