import type { ArchiveStore } from "../../archive/archive-store.ts";
import type { RunContext } from "../../protocol/run-context.ts";
import { loadReplayable } from "./load-replayable.ts";
import type { Replayed } from "./replay-program.ts";
import type { ReplayRequest } from "./replay-run.ts";
import type { ReplayTurns } from "./replay-turns.ts";

interface ReplayingHost {
  readonly archive: Pick<ArchiveStore, "read">;
  readonly replays: ReplayTurns;
  replay(request: ReplayRequest): Promise<Replayed>;
}

/** Replays runs for principals who ask over HTTP. Resolves with the outcome of the replay as JSON, or with the reason why there is none. */
export function replayForSomebody(host: ReplayingHost) {
  return async (
    runId: string,
    { context }: { context: RunContext },
    signal: AbortSignal,
  ): Promise<object> => {
    const taken = await host.replays.take(context, signal, async () => {
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
    });
    return taken.ok ? taken.value : { error: taken.why };
  };
}
