import type { UpstreamPool } from "../../broker/upstream-pool.ts";

/** How soon a server that could not be listed is asked again; how soon it is started again is for its own pauses. */
const RETRY_MS = 2_000;

/** Notices when the tools of servers may have changed, also while nobody waits for it. */
export class ToolChanges {
  #changed = false;
  #wake = () => {};

  constructor(pool: UpstreamPool, servers: readonly { name: string }[]) {
    for (const { name } of servers) {
      pool.get(name)?.onToolsChanged(() => {
        this.#changed = true;
        this.#wake();
      });
    }
  }

  /** Resolves once there was a change since the last call, `timeoutMs` are over, or `stop` is aborted. */
  async next(stop: AbortSignal, timeoutMs?: number): Promise<void> {
    if (!this.#changed && !stop.aborted) {
      await new Promise<void>((resolve) => {
        const timer = timeoutMs === undefined ? undefined : setTimeout(() => this.#wake(), timeoutMs);
        this.#wake = () => {
          clearTimeout(timer);
          stop.removeEventListener("abort", this.#wake);
          resolve();
        };
        stop.addEventListener("abort", this.#wake);
      });
    }
    this.#changed = false;
  }
}

/**
 * Runs `again` after every change, one at a time, until `stop` is aborted; and from time to time while it returns false,
 * which says that a server could not be asked.
 */
export async function watchTools(
  changes: ToolChanges,
  stop: AbortSignal,
  complete: boolean,
  again: () => Promise<boolean>,
): Promise<void> {
  let whole = complete;
  while (!stop.aborted) {
    await changes.next(stop, whole ? undefined : RETRY_MS);
    if (!stop.aborted) whole = await again();
  }
}
