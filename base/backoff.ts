export interface PauseBounds {
  firstMs: number;
  longestMs: number;
}

/** Milliseconds of a pause that doubles each time, up to a longest one. @param doublings 0 for the first pause. */
export function doublingPause({ firstMs, longestMs }: PauseBounds, doublings: number): number {
  return Math.min(longestMs, firstMs * 2 ** doublings);
}

const BOUNDS = { firstMs: 1_000, longestMs: 30_000 };

/** How long repeated work waits before each attempt. The wait grows while attempts follow each other closely, and is short after a quiet time. */
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
    return doublingPause(BOUNDS, this.#doublings);
  }
}
