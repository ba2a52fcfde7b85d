import { GrowingPause } from "../base/backoff.ts";
import type { ConfiguredServers } from "./list-servers.ts";

/** Pause before servers that could not be listed are asked again. Starting one may wait longer (upstream-pool.ts). */
const RETRY_MS = 2_000;

/** Notes when the tools of servers may have changed, also between calls of `next`. */
export class ToolChanges {
  #changed = false;
  #wake = () => {};

  constructor(servers: ConfiguredServers, selected: readonly { name: string }[]) {
    for (const { name } of selected) {
      servers.get(name)?.onToolsChanged(() => {
        this.#changed = true;
        this.#wake();
      });
    }
  }

  /**
   * Waits for a change since the last call, at most `timeoutMs`, or until `stop` is aborted. Resolves with whether there
   * was one.
   */
  async next(stop: AbortSignal, timeoutMs?: number): Promise<boolean> {
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
    const hasChanged = this.#changed;
    this.forget();
    return hasChanged;
  }

  /** Forgets the changes so far, for a caller that is about to list the servers. */
  forget(): void {
    this.#changed = false;
  }
}

/**
 * Runs `again` after every change, one at a time, until `stop` is aborted. `again` returns false when a server could not be
 * listed; it is then also repeated at intervals. The pauses grow while changes follow each other closely, so that a
 * server that announces changes without end costs little.
 *
 * @param complete whether all servers could be listed before.
 */
export async function watchTools(
  changes: ToolChanges,
  stop: AbortSignal,
  complete: boolean,
  again: () => Promise<boolean>,
): Promise<void> {
  const pause = new GrowingPause();
  let whole = complete;
  while (!stop.aborted) {
    const hasChanged = await changes.next(stop, whole ? undefined : RETRY_MS);
    if (hasChanged) await pauseFor(pause.waitMs(), stop);
    if (stop.aborted) return;
    // The next run lists the servers anyway, so changes announced during the pause need no run of their own.
    changes.forget();
    if (hasChanged) pause.begin();
    whole = await again();
    if (hasChanged) pause.restart();
  }
}

/** Waits for `ms`, or until `stop` is aborted. */
async function pauseFor(ms: number, stop: AbortSignal): Promise<void> {
  if (ms <= 0 || stop.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    stop.addEventListener("abort", end);
  });
}
