/** A time limit that stands still while a person is asked something. */
export class TimeLimit {
  /** Settles when the time is up; never if the limit is cleared first. */
  readonly reached: Promise<void>;

  readonly #clock: { nowMs(): number };
  #remainingMs: number;
  #runningSince = 0;
  #timer: NodeJS.Timeout | undefined;
  #pauses = 0;
  #started = false;
  #expire = () => {};

  constructor(limitMs: number, clock: { nowMs(): number }) {
    this.#remainingMs = limitMs;
    this.#clock = clock;
    this.reached = new Promise((resolve) => {
      this.#expire = resolve;
    });
  }

  start(): void {
    this.#started = true;
    if (this.#pauses === 0) this.#run();
  }

  pause(): void {
    if (this.#pauses++ > 0 || this.#timer === undefined) return;
    this.#stop();
    this.#remainingMs -= this.#clock.nowMs() - this.#runningSince;
  }

  resume(): void {
    if (--this.#pauses === 0 && this.#started) this.#run();
  }

  /** Nothing is limited any more, whoever may still be asked something. */
  clear(): void {
    this.#started = false;
    this.#stop();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #run(): void {
    this.#runningSince = this.#clock.nowMs();
    this.#timer = setTimeout(this.#expire, Math.max(0, this.#remainingMs));
  }
}
