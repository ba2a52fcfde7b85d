import { isAboutOneRun } from "../../../archive/archive-error.ts";
import { jsonLine } from "../../../base/json/json-line.ts";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import type { Replayable } from "../../../host/replay/recorded-run.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { write } from "../../surroundings.ts";
import { terminalOf } from "../../terminal/terminal.ts";
import { outcomeCode, type ReplayContext, replayRun, requireReplayable } from "./context.ts";

/**
 * Replays many runs, one after the other, and prints a summary. A run that was ended by time or the engine is undecided: that
 * is no divergence, and no proof of sameness either.
 *
 * @param skipped how many runs were left out because no program ran in them.
 */
export async function replayAll(
  { runIds, skipped }: { runIds: readonly string[]; skipped: number },
  context: ReplayContext,
): Promise<ExitCode> {
  const { stdout, stderr, env } = context.surroundings;
  const { style } = terminalOf(stdout, env);
  const undecided: { run_id: string; why: string }[] = [];
  const diverged: { run_id: string; input_digest: string; divergence: string }[] = [];
  const unreadable: string[] = [];
  await context.host.warm();
  for (const [index, runId] of runIds.entries()) {
    if (context.signal.aborted) break;
    if (stderr.isTTY === true) stderr.write(`\rreplaying ${index + 1} of ${runIds.length}`);
    const replayable = await loadOrTell(runId, context);
    if (replayable === undefined) {
      unreadable.push(runId);
      continue;
    }
    const replayed = await replayRun(replayable, context);
    if (outcomeCode(replayed) === EXIT.noSandbox) {
      const { result } = replayed.envelope;
      await write(stderr, `ptc: ${result.ok ? "" : oneLine(result.error.message)}\n`);
      return EXIT.noSandbox;
    }
    if (replayed.undecided !== undefined) {
      undecided.push({ run_id: runId, why: replayed.undecided });
      if (!context.flags.json)
        await write(stdout, `${style("yellow", "undecided")} ${runId}  ${oneLine(replayed.undecided)}\n`);
      continue;
    }
    if (replayed.divergence === undefined) continue;
    const { input_digest } = replayable.run.envelope;
    diverged.push({ run_id: runId, input_digest, divergence: replayed.divergence });
    if (!context.flags.json)
      await write(stdout, `${style("red", "diverged")} ${runId}  ${oneLine(replayed.divergence)}\n`);
  }
  if (stderr.isTTY === true) stderr.write("\r\u001b[K");
  const replayedRuns = runIds.length - unreadable.length;
  const same = replayedRuns - diverged.length - undecided.length;
  const summary =
    `${countNoun(replayedRuns, "run")} replayed: ${same} the same, ${diverged.length} diverged` +
    (undecided.length === 0 ? "" : `, ${undecided.length} undecided`) +
    (unreadable.length === 0 ? "" : `; ${unreadable.length} that cannot be replayed`) +
    (skipped === 0 ? "" : `; ${skipped} skipped, in which no program ran`);
  await write(
    stdout,
    context.flags.json
      ? `${jsonLine({ replayed: replayedRuns, same, diverged, skipped, ...(undecided.length > 0 && { undecided }), ...(unreadable.length > 0 && { unreadable }) })}\n`
      : `${summary}\n`,
  );
  return diverged.length + undecided.length + unreadable.length === 0 && !context.signal.aborted
    ? EXIT.done
    : EXIT.failed;
}

/** Loads a run. When that fails, prints why and returns `undefined`, so that the other runs are still replayed. */
async function loadOrTell(runId: string, context: ReplayContext): Promise<Replayable | undefined> {
  try {
    return await requireReplayable(runId, context);
  } catch (error) {
    if (!isAboutOneRun(error) && !(error instanceof UsageError)) throw error;
    await write(context.surroundings.stderr, `ptc: ${oneLine(error.message)}\n`);
    return undefined;
  }
}
