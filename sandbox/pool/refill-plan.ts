import { Arrivals } from "./arrivals.ts";
import {
  type PoolBounds,
  poolTarget,
  type RecentDemand,
  refillDelayMs,
  refillsAtOnce,
  untilLullMs,
} from "./pool-policy.ts";

/** How long a sandbox takes to be ready before one was timed, and how much a later one counts. */
const USUAL_BOOT_MS = 500;
const LATEST_BOOT_SHARE = 0.1;

/** When and how a pool is to be refilled, by what has been asked of it until now. */
export class RefillPlan {
  readonly #arrivals = new Arrivals();
  #bootMs = USUAL_BOOT_MS;

  noteArrival(): void {
    this.#arrivals.note(performance.now());
  }

  noteEnd(): void {
    this.#arrivals.noteEnd(performance.now());
  }

  noteBoot(tookMs: number): void {
    this.#bootMs += (tookMs - this.#bootMs) * LATEST_BOOT_SHARE;
  }

  /** How many sandboxes are to wait now. */
  target(bounds: PoolBounds): number {
    return poolTarget(bounds, this.#demand);
  }

  /** How much longer refills wait for a lull in the programs that come. */
  untilLullMs(pool: { ready: number; target: number }): number {
    return untilLullMs(pool, this.#demand, this.#arrivals.sinceLastMs(performance.now()));
  }

  /** How many sandboxes may be starting when another is started to refill the pool. */
  atOnce(pool: { ready: number; target: number; most: number }): number {
    return refillsAtOnce(pool, this.#demand);
  }

  /** How long the refill for a sandbox that was taken waits at most for the end of its program. */
  delayMs(ready: number): number {
    return refillDelayMs(ready, this.#demand);
  }

  get #demand(): RecentDemand {
    const arrivalsPerSecond = this.#arrivals.perSecond(performance.now());
    return { arrivalsPerSecond, bootMs: this.#bootMs, gapsMs: this.#arrivals.gapsMs };
  }
}
