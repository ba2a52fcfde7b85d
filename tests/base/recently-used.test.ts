import { expect, it } from "vitest";
import { RecentlyUsed } from "../../base/recently-used.ts";

it("forgets what was not used for longest", () => {
  const known = new RecentlyUsed<string, number>({ maxEntries: 2 });
  known.set("a", 1);
  known.set("b", 2);
  known.get("a");
  known.peek("b");
  known.set("c", 3);
  expect(["a", "b", "c"].map((key) => known.has(key))).toEqual([true, false, true]);
});

it("forgets as much as weighs too much, but never the newest", () => {
  const known = new RecentlyUsed<string, undefined>({ maxEntries: 10, maxWeight: 10 });
  known.set("a", undefined, 4);
  known.set("b", undefined, 4);
  known.set("c", undefined, 4);
  expect(["a", "b", "c"].map((key) => known.has(key))).toEqual([false, true, true]);
  known.set("d", undefined, 40);
  expect(["b", "c", "d"].map((key) => known.has(key))).toEqual([false, false, true]);
  known.set("d", undefined, 1);
  known.set("e", undefined, 9);
  expect(known.has("d")).toBe(true);
});
