/**
 * How many sandboxes wait, and when those that were taken are replaced: pure functions of the demand, and `RefillPlan`, which
 * measures it.
 */

/** How many sandboxes may wait for a program. */
export interface PoolBounds {
  /** Kept waiting, however few programs come. 0 turns the pool off. */
  floor: number;
  /** Never exceeded, however many come. */
  ceiling: number;
}

export interface PoolDemand {
  /** Programs that come, in their busiest moments lately. */
  arrivalsPerSecond: number;
  /** How long a sandbox takes until it can be taken, lately. */
  bootMs: number;
}

/** Demand, with how programs came: in rows, or each by itself. */
export interface RecentDemand extends PoolDemand {
  /** How long each of the last few programs came after another had come or ended. */
  gapsMs: readonly number[];
}

export interface Machine {
  cores: number;
  memoryBytes: number;
}

/** What one waiting sandbox holds of the machine's memory. Measured: 26 to 47 MB. */
const WAITING_MB = 64;
/** The share of the memory that waiting sandboxes may hold. */
const MEMORY_SHARE = 1 / 8;
const WAITING_PER_CORE = 4;
const MAX_WAITING = 32;
const MAX_STARTS = 8;
/** Standard deviations above the mean of a Poisson distribution, of which 97 of 100 boots see no more arrivals. */
const MARGIN = 2;
/** A trivial program has ended by then. */
const REFILL_SOON_MS = 40;
/** A program of hundreds of calls has ended by then. */
const REFILL_LATE_MS = 500;
/** Programs that come in a row, such as those of one script, come sooner after each other or the other's end than this. */
const LULL_MS = 150;

/**
 * How many sandboxes are to wait: as many as programs come while one boots, with a margin for those that come in bursts.
 * Pure.
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

/** Shares bounds among a number of pools. The first ones get what is left over. Pure. */
export function shareBounds({ floor, ceiling }: PoolBounds, pools: number): PoolBounds[] {
  const share = (whole: number, index: number) => Math.floor(whole / pools) + (index < whole % pools ? 1 : 0);
  return Array.from({ length: pools }, (_, index) => ({
    floor: share(floor, index),
    ceiling: share(ceiling, index),
  }));
}

/**
 * How many sandboxes may be started at the same time to refill the pool. While enough wait for the programs that come, as
 * few as keep up with them: each start slows the programs that run. In the lull after a row of programs, as many as allowed, to
 * be done before the next row. Pure.
 *
 * @param most as many as are started when the pool runs empty, and never more
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
 * How long the refill for a sandbox that was taken waits at most, so as not to slow its program down: a moment; longer, while
 * those that are ready outlast two boots, should programs go on to come as often. Pure.
 */
export function refillDelayMs(ready: number, { arrivalsPerSecond, bootMs }: PoolDemand): number {
  const outlastsMs = arrivalsPerSecond === 0 ? Number.POSITIVE_INFINITY : (ready * 1_000) / arrivalsPerSecond;
  return Math.max(REFILL_SOON_MS, Math.min(outlastsMs - 2 * bootMs, REFILL_LATE_MS));
}

/**
 * How much longer refills wait for a lull in the programs that come, so as not to slow down the next one of a row. Not at
 * all while too few are ready, or when more programs came lately so far apart that a boot begun in the lull would slow the
 * next one, which a boot begun sooner does less. Pure.
 *
 * @param sinceLastMs how long ago a program came or ended
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

/** The most sandboxes that wait when the configuration does not say: four for each core, in an eighth of the memory. Pure. */
export function defaultCeiling({ cores, memoryBytes }: Machine): number {
  const inMemory = Math.floor((memoryBytes * MEMORY_SHARE) / (WAITING_MB * 1024 * 1024));
  return Math.max(1, Math.min(cores * WAITING_PER_CORE, inMemory, MAX_WAITING));
}

/** How many starts a machine is best used with: one more than it has cores, for each waits now and then. Pure. */
export function startsAtOnce({ cores }: Pick<Machine, "cores">): number {
  return Math.min(cores + 1, MAX_STARTS);
}

function hasTooFew(ready: number, target: number): boolean {
  return ready * 2 < target;
}

/** How many programs came in a row with others, and how many so that they would meet a boot begun in the lull before them. */
function countGaps(gapsMs: readonly number[], bootMs: number): { inRows: number; duringBoots: number } {
  const inRows = gapsMs.filter((gap) => gap < LULL_MS).length;
  const duringBoots = gapsMs.filter((gap) => gap >= LULL_MS && gap < LULL_MS + bootMs).length;
  return { inRows, duringBoots };
}

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

/** How finely arrivals are told apart. */
const SLOT_MS = 5_000;
/** How many slots are remembered: a minute. */
const SLOTS = 12;
const REMEMBERED_GAPS = 8;

/** How programs have come and ended lately. Times are of a clock that never goes back, in milliseconds. */
export class Arrivals {
  /** Slots by their number, with how many came in them. */
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

  /** How many came each second, in the busiest five seconds of the last minute. A minute after the last one this is 0. */
  perSecond(nowMs: number): number {
    const oldest = Math.floor(nowMs / SLOT_MS) - SLOTS;
    for (const slot of this.#slots.keys()) if (slot < oldest) this.#slots.delete(slot);
    return Math.max(0, ...this.#slots.values()) / (SLOT_MS / 1_000);
  }

  noteEnd(nowMs: number): void {
    this.#activeMs = nowMs;
  }

  /** Since one came or ended. Infinite before the first one. */
  sinceLastMs(nowMs: number): number {
    return nowMs - this.#activeMs;
  }

  /** How long each of the last few came after another had come or ended. */
  get gapsMs(): readonly number[] {
    return this.#gapsMs;
  }
}
