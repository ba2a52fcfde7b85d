import { setImmediate as nextTurn } from "node:timers/promises";

/** How long work holds the loop at once, in milliseconds: others wait for it. */
const MAX_HELD_MS = 4;

/** Work of many small steps that lets others have the loop meanwhile. */
export class Pace {
  #since = performance.now();

  /** Whether it is time to let others work. */
  get isDue(): boolean {
    return performance.now() - this.#since > MAX_HELD_MS;
  }

  /** Resolves when others have worked. */
  async rest(): Promise<void> {
    await nextTurn();
    this.#since = performance.now();
  }
}
