import type { Program } from "../../languages/program.ts";
import { buildFailure } from "../../protocol/failure.ts";
import { KeptSandbox } from "../../sandbox/kept-sandbox.ts";
import { sandboxesFor } from "../run-sandbox.ts";
import { replaceResult } from "../seal.ts";
import type { RecordedSession } from "./recorded-run.ts";
import { type RecordedRun, type Replayed, replayProgram } from "./replay-program.ts";

/**
 * Replays a program of a session in a sandbox in which those before it are replayed first. Where one of these comes to
 * something else than it did, the replay has diverged there.
 *
 * @param parts `redactionOf` has what redacts a run as it was redacted when it was recorded.
 */
export async function replayInSession(
  run: RecordedRun,
  parts: Parameters<typeof replayProgram>[1] & { redactionOf: (run: RecordedRun) => Promise<object> },
  options: Parameters<typeof replayProgram>[2] & { recorded?: RecordedSession | undefined },
): Promise<Replayed> {
  if (options.recorded === undefined) return replayProgram(run, parts, options);
  const { place, before } = options.recorded;
  const kept = new KeptSandbox(sandboxesFor(run.program, parts));
  const earlier: Program[] = [];
  const ending = (replayed: Replayed) => ({
    ...replayed,
    cleared: replayed.cleared.then(() => kept.close()),
  });
  try {
    for (const [index, each] of before.entries()) {
      const there = { place: { id: place.id, position: index + 1 }, earlier: [...earlier] };
      const replayed = await replayProgram(
        each.run,
        { ...parts, ...(await parts.redactionOf(each.run)), sandboxes: kept, modules: each.modules },
        { ...each, session: there, signal: options.signal },
      );
      await replayed.cleared;
      if (replayed.divergence !== undefined) {
        const divergence = `program ${index + 1} of its session (run ${each.run.envelope.run_id}): ${replayed.divergence}`;
        const failure = buildFailure("ReplayDiverged", divergence);
        return ending({ ...replayed, divergence, envelope: replaceResult(replayed.envelope, failure) });
      }
      if (replayed.undecided !== undefined)
        return ending({
          ...replayed,
          undecided: `program ${index + 1} of its session: ${replayed.undecided}`,
        });
      earlier.push(each.run.program);
    }
    const session = { place, earlier };
    return ending(await replayProgram(run, { ...parts, sandboxes: kept }, { ...options, session }));
  } catch (error) {
    await kept.close();
    throw error;
  }
}
