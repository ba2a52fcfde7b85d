/** Pauses that grow: how long they are, when repeated work may continue, and when failed work is tried again. */

export interface PauseBounds {
  firstMs: number;
  longestMs: number;
}

/** Milliseconds of a pause that doubles each time, up to a longest one. @param doublings 0 for the first pause. */
export function doublingPause({ firstMs, longestMs }: PauseBounds, doublings: number): number {
  return Math.min(longestMs, firstMs * 2 ** doublings);
}

const GROWING = { firstMs: 1_000, longestMs: 30_000 };

/**
 * How long repeated work waits before each attempt. The wait grows while attempts follow each other closely, and is short after a
 * quiet time.
 */
export class GrowingPause {
  #doublings = 0;
  #since = Number.NEGATIVE_INFINITY;

  /** Milliseconds until the next attempt may begin; 0 or less when it may begin now. */
  waitMs(): number {
    return this.#since + this.#pauseMs - performance.now();
  }

  /** Notes that an attempt begins. */
  begin(): void {
    const isCalm = this.waitMs() <= -this.#pauseMs;
    this.#doublings = isCalm ? 0 : this.#doublings + 1;
    this.restart();
  }

  /** Notes that the attempt has ended: the wait counts from now. */
  restart(): void {
    this.#since = performance.now();
  }

  get #pauseMs(): number {
    return doublingPause(GROWING, this.#doublings);
  }
}

/** The pause before something that keeps failing is tried again: twice as long each time. */
export class RetryPause {
  readonly #bounds: PauseBounds;
  readonly #onOver: () => void;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(bounds: PauseBounds, onOver: () => void) {
    this.#bounds = bounds;
    this.#onOver = onOver;
  }

  get active(): boolean {
    return this.#timer !== undefined;
  }

  /** Begins a pause. A failure during one does not lengthen it. */
  fail(): void {
    if (this.#timer !== undefined) return;
    const pauseMs = doublingPause(this.#bounds, this.#failures);
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
