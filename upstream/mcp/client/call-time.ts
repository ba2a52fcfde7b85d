/** How many times its time limit a call may take in all, if its server keeps reporting progress. */
export const TOTAL_TIMES = 10;

/** The longest delay of a timer. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * The time of one call that was sent. Progress gives it its whole time limit again, up to a total; while a person is asked
 * something, it stands still.
 */
export class CallTime {
  readonly #limitMs: number;
  readonly #onUp: () => void;
  /** Time until the call is called off, and until no progress helps any more, at `#runningSince`. */
  #leftMs: number;
  #totalLeftMs: number;
  #runningSince = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #questions = 0;
  #hasProgress = false;

  /**
   * Starts the time.
   *
   * @param limitMs the time limit of the call
   * @param leftMs how much of that is left
   */
  constructor(limitMs: number, leftMs: number, onUp: () => void) {
    this.#limitMs = limitMs;
    this.#leftMs = leftMs;
    this.#totalLeftMs = limitMs * TOTAL_TIMES - (limitMs - leftMs);
    this.#onUp = onUp;
    this.#run();
  }

  /** Whether the server has reported progress. */
  get hasProgress(): boolean {
    return this.#hasProgress;
  }

  /** The server has reported progress. */
  progress(): void {
    this.#hasProgress = true;
    if (this.#timer === undefined) {
      this.#leftMs = this.#limitMs;
      return;
    }
    this.#stop();
    this.#leftMs = this.#limitMs;
    this.#run();
  }

  /** A person is asked. Several questions may be open at once. */
  pause(): void {
    if (this.#questions++ === 0) this.#stop();
  }

  /** A question was answered or withdrawn. */
  resume(): void {
    if (--this.#questions === 0) this.#run();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#questions = Number.POSITIVE_INFINITY;
  }

  #run(): void {
    this.#runningSince = performance.now();
    const delayMs = Math.max(0, Math.min(this.#leftMs, this.#totalLeftMs, MAX_DELAY_MS));
    this.#timer = setTimeout(this.#onUp, Math.ceil(delayMs));
  }

  #stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const ranMs = performance.now() - this.#runningSince;
    this.#leftMs -= ranMs;
    this.#totalLeftMs -= ranMs;
  }
}
