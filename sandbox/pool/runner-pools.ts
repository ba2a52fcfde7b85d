import type { RunnerName } from "../../protocol/runners/runner-name.ts";
import type { Sandbox, SandboxOutput, SandboxSource } from "../sandbox.ts";
import { type PoolBounds, shareBounds } from "./pool-policy.ts";
import type { WarmPool } from "./warm-pool.ts";

interface RunnerPoolsOptions {
  /** How many sandboxes wait, whatever runners they have. */
  bounds: PoolBounds;
  /** The runner of sandboxes for which nobody names one. */
  runner: RunnerName;
  /** Makes the pool of a runner's sandboxes. */
  open: (runner: RunnerName, bounds: PoolBounds) => WarmPool;
}

/**
 * A pool for each runner, under one bound. The second one begins to fill when a program first needs it; from then on the
 * pools share the bound, and the one that was used last gets what cannot be shared.
 */
export class RunnerPools implements SandboxSource {
  readonly #options: RunnerPoolsOptions;
  readonly #pools = new Map<RunnerName, WarmPool>();
  /** The runner that was used last comes first. */
  #runners: RunnerName[] = [];

  constructor(options: RunnerPoolsOptions) {
    this.#options = options;
    this.#use(options.runner);
  }

  get ready(): boolean {
    return this.isReady(this.#options.runner);
  }

  /** How many sandboxes wait for a program, and how many are being started, of all runners. */
  get state(): { ready: number; starting: number } {
    const states = [...this.#pools.values()].map(({ state }) => state);
    return {
      ready: states.reduce((sum, { ready }) => sum + ready, 0),
      starting: states.reduce((sum, { starting }) => sum + starting, 0),
    };
  }

  /** Begins to fill the pool of the runner that is used by default. */
  prime(): void {
    this.#pools.get(this.#options.runner)?.prime();
  }

  isReady(runner: RunnerName): boolean {
    return this.#pools.get(runner)?.ready ?? false;
  }

  acquire(
    output: SandboxOutput,
    signal?: AbortSignal,
    runner: RunnerName = this.#options.runner,
  ): Promise<Sandbox> {
    return this.#use(runner).acquire(output, signal);
  }

  /** As `close` of the pools. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  #use(runner: RunnerName): WarmPool {
    const { bounds, open } = this.#options;
    const known = this.#pools.get(runner);
    if (known !== undefined && this.#runners[0] === runner) return known;
    this.#runners = [runner, ...this.#runners.filter((other) => other !== runner)];
    const shares = shareBounds(bounds, this.#runners.length);
    for (const [index, other] of this.#runners.entries()) {
      const share = shares[index];
      if (share !== undefined) this.#pools.get(other)?.resize(share);
    }
    const pool = known ?? open(runner, shares[0] ?? bounds);
    this.#pools.set(runner, pool);
    return pool;
  }
}
