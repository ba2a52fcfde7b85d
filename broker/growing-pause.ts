const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** The pause between two turns of something: longer each time when they follow each other closely, short after a calm. */
export class GrowingPause {
  #pauseMs = SHORTEST_PAUSE_MS;
  #since = Number.NEGATIVE_INFINITY;

  /** How long the next turn has to wait; not more than 0 when it need not. */
  waitMs(): number {
    return this.#since + this.#pauseMs - performance.now();
  }

  /** A turn begins. */
  begin(): void {
    const isCalm = this.waitMs() <= -this.#pauseMs;
    this.#pauseMs = isCalm ? SHORTEST_PAUSE_MS : Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.restart();
  }

  /** The pause counts from now: the turn has ended. */
  restart(): void {
    this.#since = performance.now();
  }
}
