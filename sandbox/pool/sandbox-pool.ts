import type { Platform } from "../../protocol/platform.ts";
import type { RunnerName } from "../../protocol/runners.ts";
import type { Sandbox, SandboxOutput, SandboxSource, SandboxUse } from "../sandbox.ts";
import type { SandboxStarter } from "../sandbox-starter.ts";
import { type PoolBounds, shareBounds } from "./pool-policy.ts";
import { WarmPool } from "./warm-pool.ts";

export interface PoolOptions {
  /** Starts the sandboxes. */
  starter: SandboxStarter;
  /** How many sandboxes wait, for all runners together. */
  bounds: PoolBounds;
  /** The default runner. Its sandboxes are started first. */
  runner: RunnerName;
  /** The maximum number of concurrent starts to refill the pool. */
  maxStarts?: number | undefined;
  /** Whether programs use all processors of the machine, for which refills wait. */
  isBusy?: (() => boolean) | undefined;
}

/**
 * The sandboxes of a host, started on demand or, depending on its bounds, in advance. It has a warm pool for each runner, under one
 * common bound. Its options can be replaced; callers that wait for a sandbox of the old pools still get it.
 */
export class SandboxPool implements SandboxSource {
  #current: RunnerPools;
  readonly #closing = new Set<Promise<void>>();

  constructor(options: PoolOptions) {
    this.#current = new RunnerPools(options);
  }

  get ready(): boolean {
    return this.#current.isReady();
  }

  get platform(): Platform | undefined {
    return this.#current.platform;
  }

  /** How many sandboxes wait for a program, and how many are being started. */
  get state(): { ready: number; starting: number } {
    return this.#current.state;
  }

  /** Has a sandbox started in advance for a client that is there. Its program gets it, and from then on as many wait as the bounds say. */
  wake(): void {
    this.#current.wake();
  }

  /**
   * Starts one sandbox for a program that is about to ask, even if the pool is off.
   *
   * @returns resolves when it is ready or could not be started. Never rejects.
   */
  warmOne(runner: RunnerName): Promise<void> {
    return this.#current.use(runner).warmOne();
  }

  withRunner(runner: RunnerName): SandboxSource {
    return this.#sourceOf(runner, false);
  }

  sparing(): SandboxSource {
    return this.#sourceOf(undefined, true);
  }

  #sourceOf(runner: RunnerName | undefined, isSparing: boolean): SandboxSource {
    const isReady = () => this.#current.isReady(runner, isSparing);
    return {
      get ready() {
        return isReady();
      },
      platform: this.platform,
      acquire: (output, signal, use) => this.acquire(output, signal, use, runner, isSparing),
      withRunner: (other) => this.#sourceOf(other, isSparing),
    };
  }

  /** @param isSparing whether the last waiting sandbox is left to others. */
  async acquire(
    output: SandboxOutput,
    signal?: AbortSignal,
    use?: SandboxUse,
    runner?: RunnerName,
    isSparing = false,
  ): Promise<Sandbox> {
    const pools = this.#current;
    pools.waiting++;
    try {
      return await pools.use(runner).acquire(output, signal, use, isSparing);
    } finally {
      pools.waiting--;
      this.#endUnused(pools);
    }
  }

  /**
   * Starts later sandboxes with other options, in advance if some of the old ones wait, and ends these as soon as no caller waits for
   * one of them.
   */
  replace(options: PoolOptions): void {
    const before = this.#current;
    this.#current = new RunnerPools(options);
    if (before.isAwake) this.#current.wake();
    this.#endUnused(before);
  }

  /** Ends all waiting and starting sandboxes, and resolves when they are removed. Taken ones are left alone. */
  async close(): Promise<void> {
    await Promise.all([this.#current.close(), ...this.#closing]);
  }

  #endUnused(pools: RunnerPools): void {
    if (pools === this.#current || pools.waiting > 0) return;
    const closed = pools.close().finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}

/**
 * A warm pool for each runner, under one bound. The second one begins to fill when a program first needs it; from then on the pools
 * share the bound, and the most recently used one gets the remainder.
 */
class RunnerPools {
  /** The number of callers that wait for a sandbox. */
  waiting = 0;
  readonly #options: PoolOptions;
  readonly #pools = new Map<RunnerName, WarmPool>();
  /** The most recently used runner comes first. */
  #runners: RunnerName[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    this.use();
  }

  get platform(): Platform | undefined {
    return this.#options.starter.platform;
  }

  /** Of all runners. */
  get state(): { ready: number; starting: number } {
    const states = [...this.#pools.values()].map(({ state }) => state);
    return {
      ready: states.reduce((sum, { ready }) => sum + ready, 0),
      starting: states.reduce((sum, { starting }) => sum + starting, 0),
    };
  }

  /** Whether a sandbox waits, besides the last one if that is left to others. */
  isReady(runner = this.#options.runner, isSparing = false): boolean {
    return (this.#pools.get(runner)?.state.ready ?? 0) > (isSparing ? 1 : 0);
  }

  /** Whether sandboxes of any runner wait or begin to. */
  get isAwake(): boolean {
    return [...this.#pools.values()].some(({ isAwake }) => isAwake);
  }

  /** Wakes the pool of the runner that was used last. At first that is the default runner. */
  wake(): void {
    const [runner = this.#options.runner] = this.#runners;
    this.#pools.get(runner)?.wake();
  }

  /** The pool of a runner, which becomes the most recently used one. */
  use(runner = this.#options.runner): WarmPool {
    const { starter, bounds, maxStarts, isBusy } = this.#options;
    const known = this.#pools.get(runner);
    if (known !== undefined && this.#runners[0] === runner) return known;
    this.#runners = [runner, ...this.#runners.filter((other) => other !== runner)];
    const shares = shareBounds(bounds, this.#runners.length);
    for (const [index, other] of this.#runners.entries()) {
      const share = shares[index];
      if (share !== undefined) this.#pools.get(other)?.resize(share);
    }
    const pool =
      known ?? new WarmPool(starter.withRunner(runner), { bounds: shares[0] ?? bounds, maxStarts, isBusy });
    this.#pools.set(runner, pool);
    return pool;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }
}
