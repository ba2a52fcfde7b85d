/** Pauses that grow: how long they last, when repeated work may continue, and when failed work is retried. */

export interface PauseBounds {
  firstMs: number;
  longestMs: number;
}

/** Returns the milliseconds of a pause that doubles each time up to a maximum. @param doublings 0 for the first pause. */
export function doublingPause({ firstMs, longestMs }: PauseBounds, doublings: number): number {
  return Math.min(longestMs, firstMs * 2 ** doublings);
}

const GROWING = { firstMs: 1_000, longestMs: 30_000 };

/** Spaces out repeated work. The wait grows while attempts follow each other closely, and is short again after a quiet time. */
export class GrowingPause {
  #doublings = 0;
  #since = Number.NEGATIVE_INFINITY;

  /** Returns the milliseconds until the next attempt may begin, or 0 or less when it may begin now. */
  waitMs(): number {
    return this.#since + this.#pauseMs - performance.now();
  }

  /** Notes that an attempt begins. */
  begin(): void {
    const isCalm = this.waitMs() <= -this.#pauseMs;
    this.#doublings = isCalm ? 0 : this.#doublings + 1;
    this.restart();
  }

  /** Notes that the attempt has ended. The wait counts from now. */
  restart(): void {
    this.#since = performance.now();
  }

  get #pauseMs(): number {
    return doublingPause(GROWING, this.#doublings);
  }
}

/** The pause before failed work is retried. It doubles with each failure. */
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

  /** Begins a pause. A failure during a pause does not lengthen it. */
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
