/**
 * Work on one large value in steps, between which the event loop has its turns: others are answered meanwhile. What works on values of any
 * size is a generator that yields where it may pause, and does what is small in one go.
 */

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
    await new Promise((resolve) => setImmediate(resolve));
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

/** Decides where the steps of a walk over the parts of a large value end. */
export class StepRoom {
  #left = STEP_WEIGHT;

  /** Whether the step ends before this part, which belongs to the next, and whether the part needs steps of its own. */
  take(part: unknown): { isFull: boolean; isHeavy: boolean } {
    const left = weigh(part, this.#left);
    if (left >= 0) {
      this.#left = left;
      return { isFull: false, isHeavy: false };
    }
    this.#left = weigh(part, STEP_WEIGHT);
    const isHeavy = this.#left < 0;
    if (isHeavy) this.#left = STEP_WEIGHT;
    return { isFull: true, isHeavy };
  }
}

/**
 * Writes a value as JSON in steps.
 *
 * @param writeLight writes a light value, a text or a name.
 * @param namesOf the names of the members of an object in the order in which they are written.
 */
export function* writeSteps(
  value: unknown,
  writeLight: (value: unknown) => string,
  namesOf: (object: object) => readonly string[] = Object.keys,
): Steps<string> {
  const pieces: string[] = [];
  const write = function* (each: unknown): Steps<void> {
    if (typeof each !== "object" || each === null || isLight(each)) {
      pieces.push(writeLight(each));
      return;
    }
    const room = new StepRoom();
    const names = Array.isArray(each) ? undefined : namesOf(each);
    const length = names?.length ?? (each as unknown[]).length;
    let before = names === undefined ? "[" : "{";
    for (let i = 0; i < length; i++) {
      const name = names?.[i];
      const part = (each as Record<string | number, unknown>)[name ?? i];
      if (part === undefined && name !== undefined) continue;
      const { isFull, isHeavy } = room.take(part);
      if (isFull) yield;
      pieces.push(before, name === undefined ? "" : `${writeLight(name)}:`);
      before = ",";
      if (isHeavy) yield* write(part);
      else pieces.push(writeLight(part));
    }
    pieces.push(before === "," ? "" : before, names === undefined ? "]" : "}");
  };
  yield* write(value);
  yield;
  return pieces.join("");
}
