import { expect, it } from "vitest";
import { CheckQueue, type QueuedCheck } from "../../../broker/schemas/checking-pool.ts";

interface Named extends QueuedCheck {
  name: string;
}

const any = () => true;

function fill(checks: [owner: string, schema: string][]): CheckQueue<Named> {
  const queue = new CheckQueue<Named>();
  for (const [index, [owner, schema]] of checks.entries())
    queue.add({ owner, schema, name: `${owner}${schema}${index}` });
  return queue;
}

function takeAll(queue: CheckQueue<Named>): string[] {
  const names: string[] = [];
  for (let next = queue.take(any); next !== undefined; next = queue.take(any)) names.push(next.name);
  return names;
}

it("gives owners their turns, and each owner's schemas", () => {
  const queue = fill([
    ["a", "x"],
    ["a", "x"],
    ["a", "x"],
    ["a", "y"],
    ["b", "z"],
    ["b", "z"],
  ]);
  expect(takeAll(queue)).toEqual(["ax0", "bz4", "ay3", "bz5", "ax1", "ax2"]);
});

it("remembers whose turn it was when nothing of theirs is left", () => {
  const queue = fill([["a", "x"]]);
  queue.take(any);
  queue.add({ owner: "a", schema: "x", name: "a again" });
  queue.add({ owner: "b", schema: "y", name: "b" });
  expect(takeAll(queue)).toEqual(["b", "a again"]);
});

it("takes the first that may be taken", () => {
  const queue = fill([
    ["a", "x"],
    ["b", "y"],
  ]);
  expect(queue.take(({ owner }) => owner === "b")?.name).toBe("by1");
  expect(queue.take(({ owner }) => owner === "b")).toBeUndefined();
  expect(queue.clear().map(({ name }) => name)).toEqual(["ax0"]);
});

it("has room for others when one owner has filled theirs", () => {
  const queue = new CheckQueue();
  let added = 0;
  while (queue.add({ owner: "a", schema: String(added) })) added++;
  expect(added).toBeGreaterThan(100);
  expect(queue.add({ owner: "b", schema: "x" })).toBe(true);
});

it("is full at some point, however many owners there are", () => {
  const queue = new CheckQueue();
  let added = 0;
  while (added < 100_000 && queue.add({ owner: String(added), schema: "x" })) added++;
  expect(added).toBeLessThan(100_000);
});
