import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TimeLimit } from "../../execution/time-limit.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function limit(ms: number) {
  const time = new TimeLimit(ms, { nowMs: () => Date.now() });
  let reached = false;
  void time.reached.then(() => {
    reached = true;
  });
  const passed = async (elapsedMs: number) => {
    await vi.advanceTimersByTimeAsync(elapsedMs);
    return reached;
  };
  return { time, passed };
}

describe("a time limit", () => {
  it("is reached when its time is up, counted from its start", async () => {
    const { time, passed } = limit(100);
    expect(await passed(500)).toBe(false);
    time.start();
    expect(await passed(99)).toBe(false);
    expect(await passed(1)).toBe(true);
  });

  it("stands still while it is paused, however often", async () => {
    const { time, passed } = limit(100);
    time.start();
    await passed(40);
    time.pause();
    time.pause();
    expect(await passed(1_000)).toBe(false);
    time.resume();
    expect(await passed(1_000)).toBe(false);
    time.resume();
    expect(await passed(59)).toBe(false);
    expect(await passed(1)).toBe(true);
  });

  it("that was paused before its start begins when it goes on", async () => {
    const { time, passed } = limit(100);
    time.pause();
    time.start();
    expect(await passed(500)).toBe(false);
    time.resume();
    expect(await passed(100)).toBe(true);
  });

  it("that was cleared is never reached, though a question be answered later", async () => {
    const { time, passed } = limit(100);
    time.start();
    time.pause();
    time.clear();
    time.resume();
    expect(await passed(1_000)).toBe(false);
  });
});
