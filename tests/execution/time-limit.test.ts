import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TimeLimit } from "../../execution/time-limit.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Longer than a question that is not worth a pause. */
const SOON_MS = 50;

function limit(ms: number, pausable = true) {
  const time = new TimeLimit(ms, { monotonicMs: () => Date.now() });
  const program = { said: [] as string[] };
  const controls = { pause: () => program.said.push("pause"), resume: () => program.said.push("resume") };
  let reached = false;
  void time.reached.then(() => {
    reached = true;
  });
  const passed = async (elapsedMs: number) => {
    await vi.advanceTimersByTimeAsync(elapsedMs);
    return reached;
  };
  return { time, program, passed, start: () => time.start(pausable ? controls : {}) };
}

describe("a time limit", () => {
  it("is reached when its time is up, counted from its start", async () => {
    const { start, passed } = limit(100);
    expect(await passed(500)).toBe(false);
    start();
    expect(await passed(99)).toBe(false);
    expect(await passed(1)).toBe(true);
  });

  it("stands still while the program is paused, however many questions are open", async () => {
    const { time, program, start, passed } = limit(100);
    start();
    await passed(20);
    time.open();
    time.open();
    await passed(SOON_MS);
    expect(program.said).toEqual(["pause"]);
    expect(await passed(1_000)).toBe(false);
    time.close();
    expect(await passed(1_000)).toBe(false);
    expect(program.said).toEqual(["pause"]);
    time.close();
    expect(program.said).toEqual(["pause", "resume"]);
    expect(await passed(100 - 20 - SOON_MS - 1)).toBe(false);
    expect(await passed(1)).toBe(true);
  });

  it("runs on through questions that are answered at once, and no program is stopped for them", async () => {
    const { time, program, start, passed } = limit(100);
    start();
    for (let i = 0; i < 3; i++) {
      time.open();
      expect(await passed(30)).toBe(false);
      time.close();
    }
    expect(await passed(10)).toBe(true);
    expect(program.said).toEqual([]);
  });

  it("runs on where the program cannot be paused", async () => {
    const { time, start, passed } = limit(100, false);
    start();
    time.open();
    expect(await passed(99)).toBe(false);
    expect(await passed(1)).toBe(true);
  });

  it("that was paused before its start stands still as soon as the program does", async () => {
    const { time, program, start, passed } = limit(100);
    time.open();
    expect(await passed(500)).toBe(false);
    start();
    await passed(SOON_MS);
    expect(program.said).toEqual(["pause"]);
    expect(await passed(500)).toBe(false);
    time.close();
    expect(await passed(100 - SOON_MS)).toBe(true);
  });

  it("that was cleared is never reached, and nothing is resumed, though a question be answered later", async () => {
    const { time, program, start, passed } = limit(100);
    start();
    time.open();
    await passed(SOON_MS);
    time.clear();
    time.close();
    expect(await passed(1_000)).toBe(false);
    expect(program.said).toEqual(["pause"]);
  });
});
