import { afterEach, expect, it, vi } from "vitest";
import type { ApprovalRequest } from "../../broker/approvals/approvals.ts";
import { planOf } from "../../broker/approvals/plan.ts";
import { Planning } from "../../execution/planning.ts";
import { TimeLimit } from "../../execution/time-limit.ts";

afterEach(() => vi.useRealTimers());

it("takes nothing of the program's time while it is rehearsed", async () => {
  vi.useFakeTimers();
  const limit = new TimeLimit(1_000, { monotonicMs: () => Date.now() });
  const happened: string[] = [];
  limit.start({ pause: () => happened.push("paused"), resume: () => happened.push("resumed") });
  void limit.reached.then(() => happened.push("timed out"));
  const planning = new Planning(limit);
  planning.begin({
    stop: async () => ({ calls: [], trace: undefined, insideMs: 0 }),
    goOn: () => happened.push("goes on"),
  });
  planning.rehearseWith(async () => {
    await vi.advanceTimersByTimeAsync(10_000);
    return planOf([]);
  });
  await planning.plan({} as ApprovalRequest, new AbortController().signal);
  expect(happened).toEqual(["paused", "resumed", "goes on"]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(happened.at(-1)).toBe("timed out");
});
