import { doublingPause } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { UpstreamError } from "../upstream-error.ts";

export interface BackoffOptions {
  firstMs: number;
  maxMs: number;
  /** A connection that has lived this long cancels the failures before it. */
  stableMs: number;
}

export const DEFAULT_BACKOFF: BackoffOptions = { firstMs: 1_000, maxMs: 60_000, stableMs: 60_000 };

/** Decides when a failed server may be started again: at once after its first loss, then after growing pauses. */
export class RestartBackoff {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #options: BackoffOptions;
  #connectedAt = 0;
  #failures = 0;
  #lastFailure: UpstreamError | undefined;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, "monotonicMs">, options: BackoffOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** A connection has been made. */
  connected(): void {
    this.#connectedAt = this.#clock.monotonicMs();
  }

  /** An established connection has ended on its own. */
  lost(reason: UpstreamError): void {
    if (this.#clock.monotonicMs() - this.#connectedAt >= this.#options.stableMs) this.#failures = 0;
    this.#fail(reason, 1);
  }

  /** A connection could not be made. */
  failed(reason: unknown): void {
    // A person may log in at any moment, and is not to wait then.
    if (reason instanceof UpstreamError && reason.code === "login_required") return;
    this.#fail(reason, 0);
  }

  /** @throws UpstreamError during a pause, with the failure that caused the pause. */
  refuseDuringPause(server: string): void {
    const waitMs = this.#retryAt - this.#clock.monotonicMs();
    if (waitMs <= 0) return;
    const last = this.#lastFailure;
    const seconds = Math.ceil(waitMs / 1_000);
    const reason = last === undefined ? `server '${server}' failed` : last.message;
    throw new UpstreamError("backing_off", `${reason}; it will be tried again in ${seconds} s`, {
      cause: last,
      retryable: true,
    });
  }

  /** @param free the number of failures that cause no pause. */
  #fail(reason: unknown, free: number): void {
    const { firstMs, maxMs } = this.#options;
    this.#failures++;
    this.#lastFailure = reason instanceof UpstreamError ? reason : undefined;
    const doublings = this.#failures - 1 - free;
    const pauseMs = doublings < 0 ? 0 : doublingPause({ firstMs, longestMs: maxMs }, doublings);
    this.#retryAt = this.#clock.monotonicMs() + pauseMs;
  }
}
