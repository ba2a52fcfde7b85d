/**
 * Work on one large value in steps, between which the event loop has its turns: others are answered meanwhile. What works on values of any
 * size is a generator that yields where it may pause, and does what is small in one go.
 */
import { setImmediate } from "node:timers/promises";

/** How long steps follow each other before the event loop has a turn. */
const SLICE_MS = 8;

/** Steps of some work, and what it comes to. */
export type Steps<T> = Generator<void, T, void>;

/** Does all steps, with turns of the event loop between them. What the steps throw, it rejects with. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  let sliceEndsAt = performance.now() + SLICE_MS;
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (performance.now() < sliceEndsAt) continue;
    await setImmediate();
    sliceEndsAt = performance.now() + SLICE_MS;
  }
}

/** Does all steps in one go. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** The weight of what is done in one step: that many values, or `CHARS_PER_VALUE` characters of text for each. */
export const STEP_WEIGHT = 4_000;
const CHARS_PER_VALUE = 64;

/** Whether a JSON value is small enough for one step. */
export function isLight(value: unknown): boolean {
  return weigh(value, STEP_WEIGHT) >= 0;
}

/** Subtracts the weight of a value from a budget. The result is negative when the budget does not suffice. */
export function weigh(value: unknown, budget: number): number {
  if (typeof value === "string") return budget - 1 - value.length / CHARS_PER_VALUE;
  let left = budget - 1;
  if (typeof value !== "object" || value === null) return left;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && left >= 0; i++) left = weigh(value[i], left);
    return left;
  }
  // `for in` would list all names of a large object before the first.
  const names = Object.keys(value);
  if (names.length > left) return -1;
  for (let i = 0; i < names.length && left >= 0; i++) {
    const name = names[i] as string;
    left = weigh((value as Record<string, unknown>)[name], left - 1 - name.length / CHARS_PER_VALUE);
  }
  return left;
}

/**
 * Applies a function to each of some items in steps: consecutive light items together in one step, each heavy item by steps of its own.
 *
 * @param light handles the items from `start` to `end`.
 */
export function* eachByWeight<Item>(
  items: readonly Item[],
  partOf: (item: Item) => unknown,
  light: (start: number, end: number) => void,
  heavy: (index: number) => Steps<void>,
): Steps<void> {
  let start = 0;
  let room = STEP_WEIGHT;
  for (const [index, item] of items.entries()) {
    const value = partOf(item);
    const left = weigh(value, room);
    if (left >= 0) {
      room = left;
      continue;
    }
    if (index > start) light(start, index);
    start = index;
    yield;
    room = weigh(value, STEP_WEIGHT);
    if (room >= 0) continue;
    yield* heavy(index);
    start = index + 1;
    room = STEP_WEIGHT;
  }
  if (items.length > start) light(start, items.length);
}
