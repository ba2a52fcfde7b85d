const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/** How long to leave something alone that keeps failing: twice as long each time, up to half a minute. */
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

  /** Failures during a pause count as the one that began it. */
  fail(): void {
    if (this.#timer !== undefined) return;
    const pauseMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** this.#failures);
    this.#failures++;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#onOver();
    }, pauseMs).unref();
  }

  /** It works: a pause is over, and the next one is short. */
  succeed(): void {
    this.#failures = 0;
    this.stop();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
