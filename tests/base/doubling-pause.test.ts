import { expect, test } from "vitest";
import { doublingPause } from "../../base/doubling-pause.ts";

test("a pause doubles from the first to the longest, and stays there", () => {
  const bounds = { firstMs: 500, longestMs: 3_000 };
  expect([0, 1, 2, 3, 4, 5_000].map((doublings) => doublingPause(bounds, doublings))).toEqual([
    500, 1_000, 2_000, 3_000, 3_000, 3_000,
  ]);
});
