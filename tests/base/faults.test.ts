import { EventEmitter } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { inBoundary, installLastResort, outsideBoundaries, withinBoundary } from "../../base/faults.ts";

describe("a boundary", () => {
  it("gets what a bound listener throws, wherever its event comes from", () => {
    const faults: unknown[] = [];
    const stream = new EventEmitter();
    withinBoundary(
      (fault) => faults.push(fault) > 0,
      () =>
        stream.on(
          "data",
          inBoundary(() => {
            throw new Error("bad byte");
          }),
        ),
    );
    stream.emit("data");
    expect(faults).toEqual([new Error("bad byte")]);
  });

  it("hands on what it does not take, when what it held is over", () => {
    const listener = withinBoundary(
      () => false,
      () =>
        inBoundary(() => {
          throw new Error("late");
        }),
    );
    expect(() => listener()).toThrow("late");
  });

  it("leaves listeners alone that are made outside of any", () => {
    const listener = () => {};
    expect(inBoundary(listener)).toBe(listener);
    expect(withinBoundary(vi.fn(), () => outsideBoundaries(() => inBoundary(listener)))).toBe(listener);
  });
});

describe("the last resort", () => {
  it.each(["uncaughtException", "unhandledRejection"] as const)(
    "leads an %s to the boundary it comes from, and others to the process",
    (event) => {
      const source = new EventEmitter();
      const stray: unknown[] = [];
      const taken: unknown[] = [];
      const uninstall = installLastResort(source, (fault) => stray.push(fault));
      withinBoundary(
        (fault) => {
          taken.push(fault);
          return fault === "mine";
        },
        () => {
          source.emit(event, "mine");
        },
      );
      withinBoundary(
        () => false,
        () => source.emit(event, "over"),
      );
      source.emit(event, "nobody's");
      uninstall();
      source.emit(event, "after");
      expect(taken).toEqual(["mine"]);
      expect(stray).toEqual(["over", "nobody's"]);
    },
  );
});
