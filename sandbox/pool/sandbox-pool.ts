import type { RunnerName } from "../../protocol/runners.ts";
import type { Sandbox, SandboxOutput, SandboxSource, SandboxUse } from "../sandbox.ts";
import type { SandboxStarter } from "../sandbox-starter.ts";
import { type PoolBounds, shareBounds } from "./pool-policy.ts";
import { WarmPool } from "./warm-pool.ts";

export interface PoolOptions {
  /** Starts the sandboxes. */
  starter: SandboxStarter;
  /** How many sandboxes wait, whatever runners they have. */
  bounds: PoolBounds;
  /** The runner of sandboxes for which nobody names one. Its sandboxes wait first. */
  runner: RunnerName;
  /** How many sandboxes are started at the same time at most, to refill the pool. */
  maxStarts?: number | undefined;
}

/**
 * The sandboxes of a host: started on demand, or waiting where its bounds say so. Holds a warm pool for each runner, under one
 * bound. The pool can be replaced by one with other options; who waits for a sandbox of the old one still gets it.
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

  /** How many sandboxes wait for a program, and how many are being started. */
  get state(): { ready: number; starting: number } {
    return this.#current.state;
  }

  /** Begins to start the sandboxes that wait. */
  warm(): void {
    this.#current.warm();
  }

  /**
   * Starts one sandbox for a program that is about to ask, also where none wait.
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

  /** Begins to start sandboxes by other options, and ends the old ones as soon as nobody waits for one of them. */
  replace(options: PoolOptions): void {
    const before = this.#current;
    this.#current = new RunnerPools(options);
    this.#current.warm();
    this.#endUnused(before);
  }

  /** Ends all sandboxes that wait or are being started, and resolves when they are removed. Taken ones are left alone. */
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
 * A warm pool for each runner, under one bound. The second one begins to fill when a program first needs it; from then on the
 * pools share the bound, and the one that was used last gets what cannot be shared.
 */
class RunnerPools {
  /** Callers that wait for a sandbox. */
  waiting = 0;
  readonly #options: PoolOptions;
  readonly #pools = new Map<RunnerName, WarmPool>();
  /** The runner that was used last comes first. */
  #runners: RunnerName[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    this.use();
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

  /** Begins to fill the pool of the runner that is used by default. */
  warm(): void {
    this.#pools.get(this.#options.runner)?.warm();
  }

  /** The pool of a runner, which is used last from now on. */
  use(runner = this.#options.runner): WarmPool {
    const { starter, bounds, maxStarts } = this.#options;
    const known = this.#pools.get(runner);
    if (known !== undefined && this.#runners[0] === runner) return known;
    this.#runners = [runner, ...this.#runners.filter((other) => other !== runner)];
    const shares = shareBounds(bounds, this.#runners.length);
    for (const [index, other] of this.#runners.entries()) {
      const share = shares[index];
      if (share !== undefined) this.#pools.get(other)?.resize(share);
    }
    const pool =
      known ?? new WarmPool(starter.withRunner(runner), { bounds: shares[0] ?? bounds, maxStarts });
    this.#pools.set(runner, pool);
    return pool;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }
}
