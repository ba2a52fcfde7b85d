import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import type { UsageLimits } from "../limits/usage-limits.ts";
import { loadReplayable } from "./load-replayable.ts";
import type { Replayed } from "./replay-program.ts";
import type { ReplayRequest } from "./replay-run.ts";

interface ReplayingHost {
  readonly archive: Pick<ArchiveStore, "read">;
  readonly use: Pick<UsageLimits, "admit">;
  replay(request: ReplayRequest): Promise<Replayed>;
}

/** The most replays at a time, over all principals. A replay needs a sandbox as a program does. */
const MAX_REPLAYS = 2;

/**
 * Replays runs for principals who ask over HTTP: a few at a time, and each counts against what its principal may use as a program does.
 * What comes out is what the replay came to, as JSON, or why there is none.
 */
export function replayForSomebody(host: ReplayingHost) {
  let running = 0;
  return async (
    runId: string,
    { context }: { context: RunContext },
    signal: AbortSignal,
  ): Promise<object> => {
    if (running >= MAX_REPLAYS) return { error: "the most replays that may run do so already; try again" };
    running++;
    try {
      const admission = await host.use.admit(context);
      if (admission.kind !== "admitted") return { error: admission.failure.message };
      try {
        const loaded = await loadReplayable(host.archive, runId);
        if (!loaded.ok) return { error: `this run cannot be replayed: ${loaded.problem.kind}` };
        const replayed = await host.replay({ ...loaded.replayable, signal });
        const { envelope, divergence, undecided } = replayed;
        const same = divergence === undefined && undecided === undefined;
        return {
          run_id: runId,
          same,
          divergence: divergence ?? null,
          undecided: undecided ?? null,
          envelope,
        };
      } finally {
        admission.allowance.end();
      }
    } finally {
      running--;
    }
  };
}
