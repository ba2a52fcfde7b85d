import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SeriesWriter } from "../../../../protocol/series.ts";
import { callEvent, EventOrder, timerEvent } from "../../../../runner-image/node/environment/event-order.ts";

const logOf = (...events: number[]) => {
  const log = new SeriesWriter(1_000);
  for (const event of events) log.push(event);
  return log.toString();
};

/** The replay of a log, what became of events that came, and which calls it had the process wait for. */
function replayOf(events: readonly number[], inFlight: readonly number[] = []) {
  const order = new EventOrder(1_000);
  const seen: string[] = [];
  const expected: number[] = [];
  order.replay(logOf(...events), {
    expect: (id) => {
      expected.push(id);
      return inFlight.includes(id);
    },
    release: () => void seen.push("calls released"),
  });
  const hold = (event: number, name: string) =>
    order.hold(event, {
      deliver: () => {
        seen.push(name);
        void Promise.resolve().then(() => seen.push(`after ${name}`));
      },
      release: () => void seen.push(`${name} released`),
    });
  return { order, seen, expected, hold };
}

describe("the order of events", () => {
  // A replay takes the event of a loop without work from the process.
  const before = Object.getOwnPropertyDescriptor(process, "emit");
  const restore = () => {
    Reflect.deleteProperty(process, "emit");
    if (before !== undefined) Object.defineProperty(process, "emit", before);
  };
  beforeEach(restore);
  afterEach(restore);

  it("is logged in a live run, where nothing is held", () => {
    const order = new EventOrder(1_000);
    const seen: string[] = [];
    order.start();
    order.happen(timerEvent(1), () => void seen.push("timer"));
    order.happen(callEvent(1), () => void seen.push("call"));
    order.look();
    expect(seen).toEqual(["timer", "call"]);
    expect(order.replaying).toBe(false);
    expect(order.log.toString()).toBe(logOf(3, 2));
  });

  it("is that of the log in a replay, each event in a turn of its own, and then that in which they come", async () => {
    const { order, seen, hold } = replayOf([callEvent(1), timerEvent(1), callEvent(2)]);
    expect(order.replaying).toBe(true);
    hold(callEvent(2), "second call");
    hold(timerEvent(9), "odd timer");
    hold(timerEvent(1), "timer");
    await new Promise(setImmediate);
    expect(seen).toEqual([]);
    hold(callEvent(1), "call");
    await expect.poll(() => order.replaying).toBe(false);
    await new Promise(setImmediate);
    expect(seen).toEqual([
      ...["call", "after call", "timer", "after timer"],
      ...["calls released", "odd timer released", "second call", "after second call"],
    ]);
    expect(order.log.toString()).toBe(logOf(2, 3, 4));
  });

  it("has the process wait for the call that is next, and for no other", () => {
    const { order, expected, hold } = replayOf([callEvent(3), timerEvent(1)]);
    order.look();
    hold(callEvent(4), "another call");
    expect(expected).toEqual([3, 3]);
    const timers = replayOf([timerEvent(1)]);
    timers.order.look();
    expect(timers.expected).toEqual([]);
  });

  it("leaves out what was dropped", async () => {
    const { order, seen, hold } = replayOf([timerEvent(1)]);
    hold(timerEvent(1), "dropped");
    order.drop(timerEvent(1));
    hold(timerEvent(1), "timer");
    await expect.poll(() => order.replaying).toBe(false);
    expect(seen.filter((each) => /^(?:dropped|timer)$/.test(each))).toEqual(["timer"]);
  });

  it("is nobody's any more where the loop has no work, and what is next does not come", () => {
    const { order, seen, hold } = replayOf([callEvent(1)]);
    hold(timerEvent(1), "timer");
    expect(process.emit("beforeExit", 0)).toBe(true);
    expect(order.replaying).toBe(false);
    expect(seen).toEqual(["calls released", "timer released"]);
  });

  it("goes on where the loop has no work and a call is in flight, or what is next has come", async () => {
    const waiting = replayOf([callEvent(1)], [1]);
    expect(process.emit("beforeExit", 0)).toBe(true);
    expect(waiting.order.replaying).toBe(true);
    restore();
    const { order, seen, hold } = replayOf([timerEvent(1)]);
    hold(timerEvent(1), "timer");
    process.emit("beforeExit", 0);
    await expect.poll(() => order.replaying).toBe(false);
    expect(seen).toContain("timer");
  });

  it("is that of a new program after the one before, with nothing of that", async () => {
    const { order, seen, hold } = replayOf([timerEvent(1)]);
    order.start();
    expect(order.replaying).toBe(false);
    hold(timerEvent(1), "timer");
    order.happen(timerEvent(2), () => {});
    await new Promise(setImmediate);
    expect(seen).toEqual([]);
    expect(order.log.toString()).toBe(logOf(5));
  });

  it("is no replay of a log that is empty or nonsense", () => {
    for (const log of ["", "?", logOf()]) {
      const order = new EventOrder(1_000);
      let released = 0;
      order.replay(log, { expect: () => false, release: () => void released++ });
      expect([order.replaying, released]).toEqual([false, 1]);
    }
  });
});
