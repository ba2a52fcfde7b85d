import { doublingPause } from "../../base/doubling-pause.ts";

const BOUNDS = { firstMs: 500, longestMs: 30_000 };

/** The pause before something that keeps failing is tried again: twice as long each time, up to half a minute. */
export class RetryPause {
  readonly #onOver: () => void;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  get active(): boolean {
    return this.#timer !== undefined;
  }

  /** Begins a pause. A failure during one does not lengthen it. */
  fail(): void {
    if (this.#timer !== undefined) return;
    const pauseMs = doublingPause(BOUNDS, this.#failures);
    this.#failures++;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#onOver();
    }, pauseMs).unref();
  }

  /** Ends the pause after a success, and makes the next one short again. */
  succeed(): void {
    this.#failures = 0;
    this.stop();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
