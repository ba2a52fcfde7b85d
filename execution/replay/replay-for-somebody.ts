import type { ArchiveStore } from "../../archive/archive-store.ts";
import { Turns } from "../../base/turns.ts";
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
/** The most replays of one principal that are under way or wait. */
const MAX_ASKED = 8;

/**
 * Replays runs for principals who ask over HTTP: a few at a time, by turns between principals, and each counts against what its
 * principal may use as a program does. What comes out is what the replay came to, as JSON, or why there is none.
 */
export function replayForSomebody(host: ReplayingHost) {
  const turns = new Turns<() => void>();
  let running = 0;
  const beginNext = () => {
    while (running < MAX_REPLAYS) {
      const next = turns.next();
      if (next === undefined) return;
      running++;
      next.item();
    }
  };
  /** Resolves when it is the principal's turn, or with `false` if nobody waits for it any more. */
  const turnOf = (principal: string, signal: AbortSignal) =>
    new Promise<boolean>((resolve) => {
      const begin = () => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      const leave = () => {
        if (turns.leave(principal, begin)) resolve(false);
      };
      signal.addEventListener("abort", leave, { once: true });
      turns.wait(principal, begin);
      if (signal.aborted) leave();
      beginNext();
    });
  return async (
    runId: string,
    { context }: { context: RunContext },
    signal: AbortSignal,
  ): Promise<object> => {
    const { principal } = context;
    if (turns.has(principal) >= MAX_ASKED)
      return { error: `${MAX_ASKED} replays of yours are under way or wait; try again when they have ended` };
    if (!(await turnOf(principal, signal))) return { error: "the replay was cancelled while it waited" };
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
      turns.end(principal);
      beginNext();
    }
  };
}
