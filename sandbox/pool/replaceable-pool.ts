import type { RunnerName } from "../../protocol/runners/runner-name.ts";
import type { Sandbox, SandboxOutput, SandboxSource } from "../sandbox.ts";
import type { RunnerPools } from "./runner-pools.ts";

interface Used {
  pool: RunnerPools;
  /** Callers that wait for a sandbox of it. */
  waiting: number;
}

/** The pools that sandboxes are taken from. Others may take their place; whoever waits for a sandbox still gets one. */
export class ReplaceablePool implements SandboxSource {
  #used: Used;
  readonly #closing = new Set<Promise<void>>();

  constructor(pool: RunnerPools) {
    this.#used = { pool, waiting: 0 };
  }

  get ready(): boolean {
    return this.#used.pool.ready;
  }

  /** How many sandboxes wait for a program, and how many are being started. */
  get state(): { ready: number; starting: number } {
    return this.#used.pool.state;
  }

  prime(): void {
    this.#used.pool.prime();
  }

  withRunner(runner: RunnerName): SandboxSource {
    const isReady = () => this.#used.pool.isReady(runner);
    return {
      get ready() {
        return isReady();
      },
      acquire: (output, signal) => this.acquire(output, signal, runner),
    };
  }

  async acquire(output: SandboxOutput, signal?: AbortSignal, runner?: RunnerName): Promise<Sandbox> {
    const used = this.#used;
    used.waiting++;
    try {
      return await used.pool.acquire(output, signal, runner);
    } finally {
      used.waiting--;
      this.#endUnused(used);
    }
  }

  /** Begins to fill another pool, and ends this one as soon as nobody waits for a sandbox of it. */
  replace(pool: RunnerPools): void {
    const before = this.#used;
    this.#used = { pool, waiting: 0 };
    pool.prime();
    this.#endUnused(before);
  }

  /** As `close` of the pools. */
  async close(): Promise<void> {
    await Promise.all([this.#used.pool.close(), ...this.#closing]);
  }

  #endUnused(used: Used): void {
    if (used === this.#used || used.waiting > 0) return;
    const closed = used.pool.close().finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}
