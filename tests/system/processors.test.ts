import { expect, test } from "vitest";
import { Processors, type ProcessorTimes } from "../../system/processors.ts";

/** Looks at two processors after each time that passes, of which a share is idle. At first it is not known what they do. */
function looks(steps: readonly [pastMs: number, idleShare: number][]): boolean[] {
  let times: ProcessorTimes = { atMs: 1_000, idleMs: 50_000, allMs: 90_000 };
  const processors = new Processors(() => times);
  return steps.map(([pastMs, idleShare]) => {
    const { atMs, idleMs, allMs } = times;
    times = { atMs: atMs + pastMs, idleMs: idleMs + 2 * pastMs * idleShare, allMs: allMs + 2 * pastMs };
    return processors.areBusy();
  });
}

test.each([
  ["that are idle are not busy", [[200, 1]], [false]],
  ["of which one is idle are not busy", [[200, 0.5]], [false]],
  [
    "that all work are busy, until one is idle",
    [
      [200, 0.05],
      [200, 0],
      [200, 0.5],
    ],
    [true, true, false],
  ],
  [
    "are as they were before, where hardly any time has passed",
    [
      [200, 0],
      [50, 1],
      [40, 1],
      [20, 1],
    ],
    [true, true, true, false],
  ],
  [
    "count as busy where no look was lately, and the next one tells",
    [
      [60_000, 1],
      [50, 1],
      [200, 1],
      [2_500, 1],
      [200, 0.5],
    ],
    [true, true, false, true, false],
  ],
  ["count as busy right after the first look", [[50, 1]], [true]],
] as const)("processors %s", (_, steps, expected) => {
  expect(looks(steps.map(([pastMs, idleShare]) => [pastMs, idleShare]))).toEqual(expected);
});

test("the processors of this machine can be read", () => {
  expect(typeof new Processors().areBusy()).toBe("boolean");
});
