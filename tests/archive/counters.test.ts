import { describe, expect, it } from "vitest";
import { MemoryCounters } from "../../archive/counters.ts";
import { countersContract } from "./counters-contract.ts";

describe("counts of one process", () => {
  countersContract(async () => {
    const counters = new MemoryCounters(() => 1_000_000_007);
    return [counters, counters];
  });

  it("begin anew with each minute and each day", async () => {
    let now = Date.UTC(2026, 0, 1, 23, 59, 30);
    const counters = new MemoryCounters(() => now);
    const take = (span: "minute" | "day") => ({ name: "n", span, limit: 1, need: 1, want: 1 }) as const;
    const admit = async (span: "minute" | "day") =>
      (await counters.count({ holder: "x", holds: {}, settle: [], admissions: [[take(span)]] }))[0];
    expect([await admit("minute"), await admit("day")]).toMatchObject([
      { isGranted: true },
      { isGranted: true },
    ]);
    now += 20_000;
    expect(await admit("minute")).toMatchObject({ isGranted: false, counts: [{ moreInMs: 10_000 }] });
    now += 10_000;
    expect([await admit("minute"), await admit("day")]).toMatchObject([
      { isGranted: true },
      { isGranted: true },
    ]);
  });
});
