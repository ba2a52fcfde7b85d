/**
 * Decides how many sandboxes wait, and when taken ones are replaced: pure functions of the demand, and `RefillPlan`, which measures
 * the demand.
 */

/** How many sandboxes may wait for a program. */
export interface PoolBounds {
  /** Kept waiting however few programs arrive. 0 turns the pool off. */
  floor: number;
  /** Never exceeded however many arrive. */
  ceiling: number;
}

export interface PoolDemand {
  /** Arriving programs, in the busiest recent moments. */
  arrivalsPerSecond: number;
  /** The recent time until a sandbox is ready to be taken. */
  bootMs: number;
}

/** The demand, and whether programs arrived in series or separately. */
export interface RecentDemand extends PoolDemand {
  /** For the last few programs, the time since the previous arrival or end. */
  gapsMs: readonly number[];
}

export interface Machine {
  cores: number;
  memoryBytes: number;
}

/** The memory of one waiting sandbox. Measured: 26 to 47 MB. */
const WAITING_MB = 64;
/** The share of the memory that waiting sandboxes may use. */
const MEMORY_SHARE = 1 / 8;
const WAITING_PER_CORE = 4;
const MAX_WAITING = 32;
const MAX_STARTS = 8;
/** Standard deviations above the mean of a Poisson distribution. In 97 of 100 boots there are no more arrivals than that. */
const MARGIN = 2;
/** By then a trivial program has ended. */
const REFILL_SOON_MS = 40;
/** By then a program with hundreds of calls has ended. */
const REFILL_LATE_MS = 500;
/** Programs in a series, such as those of one script, arrive sooner than this after the previous arrival or end. */
const LULL_MS = 150;

/**
 * How many sandboxes should wait: as many as programs arrive while one boots, with a margin for bursts. Pure.
 */
export function poolTarget(
  { floor, ceiling }: PoolBounds,
  { arrivalsPerSecond, bootMs }: PoolDemand,
): number {
  if (floor === 0) return 0;
  const duringBoot = (arrivalsPerSecond * bootMs) / 1_000;
  const wanted = Math.ceil(duringBoot + MARGIN * Math.sqrt(duringBoot));
  return Math.max(floor, Math.min(wanted, ceiling));
}

/** Divides bounds among a number of pools. The first ones get the remainder. Pure. */
export function shareBounds({ floor, ceiling }: PoolBounds, pools: number): PoolBounds[] {
  const share = (whole: number, index: number) => Math.floor(whole / pools) + (index < whole % pools ? 1 : 0);
  return Array.from({ length: pools }, (_, index) => ({
    floor: share(floor, index),
    ceiling: share(ceiling, index),
  }));
}

/**
 * How many sandboxes may be started at the same time to refill the pool. While enough are waiting, only as many as keep up with
 * arrivals, because each start slows down running programs. In the lull after a series of programs, as many as allowed, to be done
 * before the next series. Pure.
 *
 * @param most the maximum, which is used if the pool runs empty
 */
export function refillsAtOnce(
  { ready, target, most }: { ready: number; target: number; most: number },
  { arrivalsPerSecond, bootMs, gapsMs }: RecentDemand,
): number {
  const { inRows, duringBoots } = countGaps(gapsMs, bootMs);
  if (hasTooFew(ready, target) || (inRows > 0 && inRows >= duringBoots)) return most;
  const toKeepUp = Math.ceil((arrivalsPerSecond * bootMs) / 1_000);
  return Math.max(1, Math.min(toKeepUp, most));
}

/**
 * The maximum delay of the refill for a taken sandbox, so as not to slow its program down: a moment, or longer if the ready sandboxes
 * will last for two boots at the current rate of arrivals. Pure.
 */
export function refillDelayMs(ready: number, { arrivalsPerSecond, bootMs }: PoolDemand): number {
  const outlastsMs = arrivalsPerSecond === 0 ? Number.POSITIVE_INFINITY : (ready * 1_000) / arrivalsPerSecond;
  return Math.max(REFILL_SOON_MS, Math.min(outlastsMs - 2 * bootMs, REFILL_LATE_MS));
}

/**
 * How much longer refills wait for a lull in arrivals, so as not to slow down the next program of a series. They do not wait if too
 * few sandboxes are ready, or if recent programs mostly arrived so far apart that a boot begun in the lull would slow the next one
 * more than a boot begun sooner. Pure.
 *
 * @param sinceLastMs the time since a program arrived or ended
 */
export function untilLullMs(
  { ready, target }: { ready: number; target: number },
  { gapsMs, bootMs }: Pick<RecentDemand, "gapsMs" | "bootMs">,
  sinceLastMs: number,
): number {
  if (hasTooFew(ready, target)) return 0;
  const { inRows, duringBoots } = countGaps(gapsMs, bootMs);
  return duringBoots > inRows ? 0 : Math.max(0, LULL_MS - sinceLastMs);
}

/** The default maximum of waiting sandboxes: four for each core, in an eighth of the memory. Pure. */
export function defaultCeiling({ cores, memoryBytes }: Machine): number {
  const inMemory = Math.floor((memoryBytes * MEMORY_SHARE) / (WAITING_MB * 1024 * 1024));
  return Math.max(1, Math.min(cores * WAITING_PER_CORE, inMemory, MAX_WAITING));
}

/** The best number of concurrent starts for a machine: one more than its cores, because each sometimes waits. Pure. */
export function startsAtOnce({ cores }: Pick<Machine, "cores">): number {
  return Math.min(cores + 1, MAX_STARTS);
}

function hasTooFew(ready: number, target: number): boolean {
  return ready * 2 < target;
}

/** How many programs arrived in a series, and how many would have arrived during a boot begun in the lull before them. */
function countGaps(gapsMs: readonly number[], bootMs: number): { inRows: number; duringBoots: number } {
  const inRows = gapsMs.filter((gap) => gap < LULL_MS).length;
  const duringBoots = gapsMs.filter((gap) => gap >= LULL_MS && gap < LULL_MS + bootMs).length;
  return { inRows, duringBoots };
}

/** The assumed boot time before one was measured, and the weight of each later measurement. */
const USUAL_BOOT_MS = 500;
const LATEST_BOOT_SHARE = 0.1;

/** Decides when and how to refill a pool, from the demand so far. */
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

  /** How many sandboxes should be waiting now. */
  target(bounds: PoolBounds): number {
    return poolTarget(bounds, this.#demand);
  }

  /** How much longer refills wait for a lull in arrivals. */
  untilLullMs(pool: { ready: number; target: number }): number {
    return untilLullMs(pool, this.#demand, this.#arrivals.sinceLastMs(performance.now()));
  }

  /** How many sandboxes may be starting at the same time to refill the pool. */
  atOnce(pool: { ready: number; target: number; most: number }): number {
    return refillsAtOnce(pool, this.#demand);
  }

  /** How long the refill for a taken sandbox waits at most for the end of its program. */
  delayMs(ready: number): number {
    return refillDelayMs(ready, this.#demand);
  }

  get #demand(): RecentDemand {
    const arrivalsPerSecond = this.#arrivals.perSecond(performance.now());
    return { arrivalsPerSecond, bootMs: this.#bootMs, gapsMs: this.#arrivals.gapsMs };
  }
}

/** The length of a time slot for counting arrivals. */
const SLOT_MS = 5_000;
/** The number of remembered slots, which cover a minute. */
const SLOTS = 12;
const REMEMBERED_GAPS = 8;

/** Tracks recent arrivals and ends of programs. Times are in milliseconds on a monotonic clock. */
export class Arrivals {
  /** The number of arrivals, by slot number. */
  readonly #slots = new Map<number, number>();
  readonly #gapsMs: number[] = [];
  #activeMs = Number.NEGATIVE_INFINITY;

  note(nowMs: number): void {
    const slot = Math.floor(nowMs / SLOT_MS);
    this.#slots.set(slot, (this.#slots.get(slot) ?? 0) + 1);
    this.#gapsMs.push(this.sinceLastMs(nowMs));
    if (this.#gapsMs.length > REMEMBERED_GAPS) this.#gapsMs.shift();
    this.#activeMs = nowMs;
  }

  /** Arrivals per second, in the busiest five seconds of the last minute. 0 if there were none in the last minute. */
  perSecond(nowMs: number): number {
    const oldest = Math.floor(nowMs / SLOT_MS) - SLOTS;
    for (const slot of this.#slots.keys()) if (slot < oldest) this.#slots.delete(slot);
    return Math.max(0, ...this.#slots.values()) / (SLOT_MS / 1_000);
  }

  noteEnd(nowMs: number): void {
    this.#activeMs = nowMs;
  }

  /** The time since the last arrival or end. Infinite before the first. */
  sinceLastMs(nowMs: number): number {
    return nowMs - this.#activeMs;
  }

  /** For the last few arrivals, the time since the previous arrival or end. */
  get gapsMs(): readonly number[] {
    return this.#gapsMs;
  }
}
