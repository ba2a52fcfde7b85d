import { type ArchiveStore, allRuns } from "../../archive/archive-store.ts";
import type { DamagedRun } from "../../archive/listed-run.ts";
import { NEVER_RAN } from "./replay-program.ts";

/**
 * Selects the runs to replay together as a regression suite, oldest first. Leaves out replays and runs in which no program ran.
 * `skipped` counts the latter.
 *
 * @param onDamaged receives runs that cannot be listed.
 * @throws ArchiveError
 */
export async function selectReplayable(
  archive: Pick<ArchiveStore, "list">,
  filter: { sinceMs?: number },
  onDamaged: (run: DamagedRun) => void,
): Promise<{ runIds: string[]; skipped: number }> {
  const runIds: string[] = [];
  let skipped = 0;
  for await (const { run_id: runId, source, status } of allRuns(archive, filter, onDamaged)) {
    if (source === "replay") continue;
    if (NEVER_RAN.has(status)) skipped++;
    else runIds.push(runId);
  }
  return { runIds: runIds.reverse(), skipped };
}
