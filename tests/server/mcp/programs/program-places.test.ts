import { describe, expect, it } from "vitest";
import { reportPosition } from "../../../../server/mcp/programs/live-run.ts";
import {
  type Entry,
  type ProgramPlace,
  ProgramPlaces,
} from "../../../../server/mcp/programs/program-places.ts";

const { signal } = new AbortController();

/** Places of which the tests see who was given one, in order. */
function setUp({ maxRunning = 1, maxQueued = 2_000 } = {}) {
  const places = new ProgramPlaces<string, string>(() => ({ maxRunning, maxQueued }));
  const begun: { who: string; place: ProgramPlace }[] = [];
  const positions = new Map<string, number[]>();
  const ask = (
    who: string,
    {
      principal = who.charAt(0),
      patienceMs = 60_000,
      enter,
    }: { principal?: string; patienceMs?: number; enter?: () => Promise<Entry<string, string>> } = {},
  ) => {
    const told: number[] = [];
    positions.set(who, told);
    const placing = places.take({
      ...{ principal, patienceMs, signal, enter },
      onPosition: (before) => told.push(before),
    });
    placing.then(
      (placed) => {
        if (placed.kind === "placed") begun.push({ who, place: placed.place });
      },
      () => {},
    );
    return placing;
  };
  /** Ends the program that began first of those that run, and lets the next begin. */
  const endOne = async () => {
    await settled();
    begun.find(({ place }) => running.has(place) && running.delete(place))?.place.free();
    await settled();
  };
  const running = {
    has: (place: ProgramPlace) => !ended.has(place),
    delete: (place: ProgramPlace) => ended.add(place),
  };
  const ended = new Set<ProgramPlace>();
  return { places, ask, begun, positions, endOne, order: () => begun.map(({ who }) => who) };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("the queue of programs", () => {
  it("knows the programs of whoever has more, once others are about", async () => {
    const { ask, endOne, begun } = setUp({ maxRunning: 2 });
    for (let n = 0; n < 3; n++) void ask(`loud ${n}`);
    void ask("quiet");
    await settled();
    await endOne();
    await endOne();
    await endOne();
    const found = begun.map(({ who, place }) => [who, place.isOneOfMany]);
    expect(found.slice(0, 4)).toEqual([
      ["loud 0", false],
      ["loud 1", false],
      ["quiet", false],
      ["loud 2", false],
    ]);
    for (let n = 3; n < 6; n++) void ask(`loud ${n}`);
    await endOne();
    expect(begun.at(-1)?.place.isOneOfMany).toBe(true);
  });

  it("gives the next place to a quiet principal, whose one program comes after a thousand of another", async () => {
    const { ask, endOne, order, positions } = setUp({ maxRunning: 2 });
    for (let n = 0; n < 1_000; n++) void ask(`loud ${n}`);
    void ask("quiet");
    await settled();
    expect(order()).toEqual(["loud 0", "loud 1"]);
    expect(positions.get("quiet")).toEqual([0]);
    await endOne();
    expect(order()).toEqual(["loud 0", "loud 1", "quiet"]);
    await endOne();
    expect(order().at(-1)).toBe("loud 2");
  });

  it("takes turns between principals, and keeps the order of each", async () => {
    const { ask, endOne, order } = setUp();
    for (const who of ["a0", "a1", "a2", "b0", "b1", "c0"]) void ask(who);
    for (let n = 0; n < 6; n++) await endOne();
    expect(order()).toEqual(["a0", "b0", "c0", "a1", "b1", "a2"]);
  });

  it("keeps the last place for who has nothing running, while several are about", async () => {
    const { ask, endOne, order } = setUp({ maxRunning: 2 });
    void ask("quiet 0");
    await settled();
    for (let n = 0; n < 3; n++) void ask(`loud ${n}`);
    await endOne();
    expect(order()).toEqual(["quiet 0", "loud 0"]);
    void ask("quiet 1");
    await settled();
    expect(order()).toEqual(["quiet 0", "loud 0", "quiet 1"]);
    await endOne();
    expect(order().at(-1)).toBe("loud 1");
  });

  it("does not let a principal that runs much have what one that runs little waits for", async () => {
    const { ask, endOne, order } = setUp({ maxRunning: 3 });
    for (const who of ["a0", "a1", "b0", "b1", "b2", "a2"]) void ask(who);
    await settled();
    expect(order()).toEqual(["a0", "a1", "b0"]);
    await endOne();
    // Each runs one now, and the last place is for somebody else.
    expect(order()).toHaveLength(3);
    await endOne();
    expect(order().at(-1)).toBe("a2");
    await endOne();
    expect(order().at(-1)).toBe("b1");
  });

  it("is full for who fills it, and for nobody else", async () => {
    const { ask } = setUp({ maxQueued: 1 });
    for (const who of ["a0", "a1"]) void ask(who);
    expect(await ask("a2")).toEqual({ kind: "none", why: "full" });
    expect(await ask("b0", { patienceMs: 1 })).toEqual({ kind: "none", why: "late" });
  });

  it("asks on the turn alone whether a program may begin, and passes a principal by that has to wait", async () => {
    const { ask, endOne, order } = setUp();
    const asked: string[] = [];
    let mayBegin = false;
    const enter = async (): Promise<Entry<string, string>> => {
      asked.push("a1");
      return mayBegin ? { kind: "entered", value: "yes" } : { kind: "later", afterMs: 1, why: "too many" };
    };
    void ask("a0");
    const held = ask("a1", { enter });
    void ask("b0");
    void ask("b1");
    expect(asked).toEqual([]);
    await endOne();
    expect(order()).toEqual(["a0", "b0"]);
    await endOne();
    await expect.poll(order).toContain("b1");
    mayBegin = true;
    await endOne();
    expect(await held).toMatchObject({ kind: "placed", entered: "yes" });
  });

  it("says why a program was held back whose time is up", async () => {
    const { ask } = setUp();
    const enter = async () => ({ kind: "later", afterMs: 2, why: "too many at a time" }) as const;
    expect(await ask("a", { enter, patienceMs: 20 })).toEqual({
      kind: "refused",
      value: "too many at a time",
    });
  });

  it("hands on the place of a program that is refused, and undoes what one was given that had given up", async () => {
    const { ask, order } = setUp();
    let undone = 0;
    const late = ask("a", {
      patienceMs: 1,
      enter: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return { kind: "entered", value: "yes", undo: () => undone++ };
      },
    });
    const refused = ask("b", { enter: async () => ({ kind: "refused", value: "no" }) });
    void ask("c");
    expect(await late).toEqual({ kind: "none", why: "late" });
    expect(await refused).toEqual({ kind: "refused", value: "no" });
    await expect.poll(order).toEqual(["c"]);
    expect(undone).toBe(1);
  });

  it("hands on the place of a program for which nobody could say whether it may begin", async () => {
    const { ask, order } = setUp();
    const fault = new Error("the counters have a fault");
    const failed = ask("a", {
      enter: async () => {
        throw fault;
      },
    });
    void ask("b");
    await expect(failed).rejects.toBe(fault);
    await expect.poll(order).toEqual(["b"]);
  });

  it("hands on the place of a program that is cancelled while it is found out whether it may begin", async () => {
    const { places, ask, order } = setUp();
    const cancelling = new AbortController();
    let answer: (entry: Entry<string, string>) => void = () => {};
    let undone = 0;
    const cancelled = places.take({
      ...{ principal: "a", patienceMs: 60_000, signal: cancelling.signal, onPosition() {} },
      enter: () => new Promise((resolve) => (answer = resolve)),
    });
    void ask("b");
    await settled();
    cancelling.abort();
    expect(await cancelled).toEqual({ kind: "none", why: "cancelled" });
    expect(order()).toEqual([]);
    answer({ kind: "entered", value: "yes", undo: () => undone++ });
    await expect.poll(order).toEqual(["b"]);
    expect(undone).toBe(1);
  });

  it("tells a client that is far behind of the steps in which it moves up, and of each one near the front", () => {
    const told: number[] = [];
    const report = reportPosition({
      report: (_, message) => told.push(Number(/\d+/.exec(message ?? "")?.[0])),
    });
    for (let before = 1_000; before >= 0; before--) report(before);
    expect(told.slice(0, 3)).toEqual([1_000, 900, 810]);
    expect(told.slice(-11)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    expect(told.length).toBeLessThan(70);
  });
});
