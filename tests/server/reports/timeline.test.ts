import { expect, test } from "vitest";
import { layOutCalls } from "../../../server/reports/run-overview.ts";

test("calls at the same time lie in different lanes, up to a number that a hundred thousand of them cannot pass", () => {
  const calls = Array.from({ length: 100_000 }, (_, i) => ({ started_ms: i, duration_ms: 1e9 }));
  expect(layOutCalls(calls.slice(0, 3), 0).bars.map(({ lane }) => lane)).toEqual([0, 1, 2]);
  const { lanes, bars } = layOutCalls(calls, 0);
  expect(lanes).toBe(500);
  expect(bars).toHaveLength(100_000);
});
