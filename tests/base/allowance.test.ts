import { expect, test } from "vitest";
import { Allowance } from "../../base/allowance.ts";

test("an allowance gives each their own, all together theirs, and some of both back with time", () => {
  let now = 0;
  const allowance = new Allowance({ burst: 2, perSecond: 1 }, { burst: 3, perSecond: 10 }, () => now);
  const taken = (who: string) => allowance.take(who);
  expect([taken("a"), taken("a"), taken("a")]).toEqual([true, true, false]);
  expect([taken("b"), taken("b")]).toEqual([true, false]);
  now = 1_000;
  expect([taken("a"), taken("a")]).toEqual([true, false]);
  expect([taken("b"), taken("b"), taken("b")]).toEqual([true, true, false]);
});
