import { describe, expect, it } from "vitest";
import { parallel } from "../../../../runner-image/node/functions/parallel.ts";

const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("parallel", () => {
  it("gives results in order and keeps to its limit", async () => {
    let active = 0;
    let most = 0;
    const work = [3, 1, 2, 0].map((turns) => async () => {
      most = Math.max(most, ++active);
      for (let i = 0; i < turns; i++) await soon();
      active--;
      return turns;
    });
    expect(await parallel(work, { limit: 2 })).toEqual([3, 1, 2, 0]);
    expect(most).toBe(2);
  });

  it("starts everything at once without a limit", async () => {
    let started = 0;
    const work = Array.from({ length: 50 }, () => async () => {
      started++;
      await soon();
      return started;
    });
    expect(await parallel(work)).toEqual(Array(50).fill(50));
  });

  it("rejects with the first failure and starts nothing after it", async () => {
    const started: number[] = [];
    const work = [0, 1, 2, 3].map((index) => async () => {
      started.push(index);
      if (index === 0) throw new Error("first");
      await soon();
      return index;
    });
    await expect(parallel(work, { limit: 2 })).rejects.toThrow("first");
    await soon();
    await soon();
    expect(started).toEqual([0, 1]);
  });

  it.each([0, -1, Number.NaN])("refuses a limit of %s", async (limit) => {
    await expect(parallel([], { limit })).rejects.toThrow("limit must be at least 1");
  });

  it("explains what to pass when it is given promises", async () => {
    await expect(parallel([Promise.resolve(1) as never])).rejects.toThrow(
      "pass () => getX(args), not getX(args)",
    );
  });
});
