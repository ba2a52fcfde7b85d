import { doublingPause } from "../../base/backoff.ts";

const PAUSE = { firstMs: 5_000, longestMs: 300_000 };

/**
 * Whether an endpoint is worth asking. After a failure it is left alone for a while, longer after each, so that searches do not
 * wait for it. Of each time of failures, the first is told.
 */
export class EndpointHealth {
  readonly #onFirstFailure: (reason: string) => void;
  readonly #now: () => number;
  #failures = 0;
  #until = 0;
  #reason: string | undefined;

  constructor(onFirstFailure: (reason: string) => void, now: () => number = () => performance.now()) {
    this.#onFirstFailure = onFirstFailure;
    this.#now = now;
  }

  /** Why the endpoint is not to be asked just now. */
  get problem(): string | undefined {
    return this.#now() < this.#until ? this.#reason : undefined;
  }

  /** Milliseconds until it may be asked. */
  get pauseMs(): number {
    return Math.max(0, this.#until - this.#now());
  }

  succeeded(): void {
    this.#failures = 0;
    this.#until = 0;
    this.#reason = undefined;
  }

  failed(reason: string): void {
    this.#until = this.#now() + doublingPause(PAUSE, this.#failures);
    this.#failures++;
    this.#reason = reason;
    if (this.#failures === 1) this.#onFirstFailure(reason);
  }
}
