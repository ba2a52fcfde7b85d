import type { ListedRun } from "../../archive/list-runs.ts";
import { NEVER_RAN } from "../../execution/replay-program.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { write } from "../surroundings.ts";
import { count, oneLine, terminalOf } from "../terminal.ts";
import { loadReplayable, outcomeCode, type ReplayContext, replayRun } from "./replay-context.ts";

/**
 * Replays many runs, one after the other, and sums up: a regression suite out of real traffic. Runs in which no program ran
 * are skipped.
 */
export async function replayAll(runs: readonly ListedRun[], context: ReplayContext): Promise<ExitCode> {
  const { stdout, stderr, env } = context.surroundings;
  const { style } = terminalOf(stdout, env);
  const diverged: { run_id: string; input_digest: string; divergence: string }[] = [];
  const runIds = runs.filter(({ status }) => !NEVER_RAN.has(status)).map(({ run_id }) => run_id);
  const skipped = runs.length - runIds.length;
  context.execution.warm();
  for (const [index, runId] of runIds.entries()) {
    if (context.signal.aborted) break;
    if (stderr.isTTY === true) stderr.write(`\rreplaying ${index + 1} of ${runIds.length}`);
    const replayable = loadReplayable(runId, context);
    const replayed = await replayRun(replayable, context);
    if (outcomeCode(replayed) === EXIT.noSandbox) {
      const { result } = replayed.envelope;
      await write(stderr, `ptc: ${result.ok ? "" : result.error.message}\n`);
      return EXIT.noSandbox;
    }
    if (replayed.divergence === undefined) continue;
    const { input_digest } = replayable.run.envelope;
    diverged.push({ run_id: runId, input_digest, divergence: replayed.divergence });
    if (!context.flags.json)
      await write(stdout, `${style("red", "diverged")} ${runId}  ${oneLine(replayed.divergence)}\n`);
  }
  if (stderr.isTTY === true) stderr.write("\r\u001b[K");
  const same = runIds.length - diverged.length;
  const summary =
    `${count(runIds.length, "run")} replayed: ${same} the same, ${diverged.length} diverged` +
    (skipped === 0 ? "" : `; ${skipped} skipped, in which no program ran`);
  await write(
    stdout,
    context.flags.json
      ? `${JSON.stringify({ replayed: runIds.length, same, diverged, skipped })}\n`
      : `${summary}\n`,
  );
  return diverged.length === 0 && !context.signal.aborted ? EXIT.done : EXIT.failed;
}
