/**
 * Prevents a slow or unreachable server from holding up others. Each server has a limited number of concurrent calls and its own
 * bounded queue, in which principals take turns. If the calls of a connection are no longer answered, its calls fail immediately for
 * a while; after that, one call at a time tries whether it answers again.
 */
import { doublingPause } from "../base/backoff.ts";
import type { Clock } from "../base/clock.ts";
import { Turns } from "../base/turns.ts";
import { UpstreamError, type UpstreamErrorCode } from "./upstream-error.ts";

export interface GateLimits {
  /** Concurrent calls of all principals together. */
  readonly maxParallelCalls: number;
  /** Waiting calls. */
  readonly maxQueuedCalls: number;
}

interface Waiter {
  admit: () => void;
}

/** The calls of one server. */
export class CallGate {
  readonly #server: string;
  readonly #limits: () => GateLimits;
  readonly #turns = new Turns<Waiter>();
  #running = 0;

  /** @param limits returns the current limits. */
  constructor(server: string, limits: () => GateLimits) {
    this.#server = server;
    this.#limits = limits;
  }

  /**
   * Does some work when its turn comes.
   *
   * @param patienceMs how long it waits for its turn.
   * @throws UpstreamError `busy` if too many wait, or its turn does not come in time; `cancelled` if the signal aborts.
   */
  async pass<T>(
    principal: string,
    { patienceMs, signal }: { patienceMs: number; signal: AbortSignal },
    work: () => Promise<T>,
  ): Promise<T> {
    await this.#enter(principal, patienceMs, signal);
    try {
      return await work();
    } finally {
      this.#running--;
      this.#turns.end(principal);
      this.#admit();
    }
  }

  #enter(principal: string, patienceMs: number, signal: AbortSignal): void | Promise<void> {
    const { maxParallelCalls, maxQueuedCalls } = this.#limits();
    if (this.#turns.waiting === 0 && this.#running < maxParallelCalls) {
      this.#turns.begin(principal);
      this.#running++;
      return;
    }
    const most = `${maxParallelCalls} calls, the most at a time, are being made`;
    if (this.#turns.waiting >= maxQueuedCalls)
      throw this.#busy(`${most}, and ${maxQueuedCalls} wait already; try again later`);
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
      };
      const leave = (error: UpstreamError) => {
        this.#turns.leave(principal, waiter);
        stop();
        reject(error);
      };
      const cancel = () =>
        leave(
          new UpstreamError("cancelled", `server '${this.#server}' was not called: the call is cancelled`),
        );
      const timer = setTimeout(
        () => leave(this.#busy(`${most}, and its turn did not come in ${patienceMs / 1_000} s`)),
        patienceMs,
      );
      const waiter: Waiter = {
        admit() {
          stop();
          resolve();
        },
      };
      if (signal.aborted) return cancel();
      signal.addEventListener("abort", cancel, { once: true });
      this.#turns.wait(principal, waiter);
    });
  }

  #admit(): void {
    while (this.#running < this.#limits().maxParallelCalls) {
      const next = this.#turns.next();
      if (next === undefined) return;
      this.#running++;
      next.item.admit();
    }
  }

  #busy(why: string): UpstreamError {
    return new UpstreamError("busy", `server '${this.#server}' was not sent the call: ${why}`);
  }
}

/** Failures after which it is not known whether the server is still there. */
const UNANSWERED: ReadonlySet<UpstreamErrorCode> = new Set(["call_timeout", "disconnected"]);

const MAX_UNANSWERED = 5;
const OPEN = { firstMs: 1_000, longestMs: 30_000 };

/** Detects that successive calls of one connection are not answered, and then fails calls immediately for a while. */
export class Circuit {
  readonly #server: string;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #unanswered = 0;
  #openUntil = Number.NEGATIVE_INFINITY;
  #isTrying = false;

  constructor(server: string, clock: Pick<Clock, "monotonicMs">) {
    this.#server = server;
    this.#clock = clock;
  }

  /** Makes a call unless the circuit is open. @throws UpstreamError `backing_off`, and whatever the work throws. */
  async through<T>(work: () => Promise<T>): Promise<T> {
    const isTry = this.#unanswered >= MAX_UNANSWERED;
    if (isTry) this.#refuseWhileOpen();
    this.#isTrying ||= isTry;
    try {
      const answer = await work();
      this.#unanswered = 0;
      return answer;
    } catch (error) {
      if (error instanceof UpstreamError && UNANSWERED.has(error.code)) this.#failed();
      // An error from the server is an answer, too.
      else if (error instanceof UpstreamError && error.code === "remote_error") this.#unanswered = 0;
      throw error;
    } finally {
      if (isTry) this.#isTrying = false;
    }
  }

  #failed(): void {
    this.#unanswered++;
    if (this.#unanswered < MAX_UNANSWERED) return;
    const doublings = this.#unanswered - MAX_UNANSWERED;
    this.#openUntil = this.#clock.monotonicMs() + doublingPause(OPEN, doublings);
  }

  #refuseWhileOpen(): void {
    const waitMs = this.#openUntil - this.#clock.monotonicMs();
    if (waitMs <= 0 && !this.#isTrying) return;
    const when =
      waitMs <= 0 ? "it is being tried again now" : `it is tried again in ${Math.ceil(waitMs / 1_000)} s`;
    const message = `server '${this.#server}' has not answered ${this.#unanswered} calls in a row; ${when}`;
    throw new UpstreamError("backing_off", message, { retryable: true });
  }
}
