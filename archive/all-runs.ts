import type { ArchiveStore } from "./archive-store.ts";
import type { DamagedRun } from "./damaged-run.ts";
import type { ListedRun, RunFilter } from "./listed-run.ts";

const PAGE = 1_000;

/**
 * Every matching run, newest first, read page by page.
 *
 * @param onDamaged receives matching runs that cannot be listed.
 * @throws ArchiveError
 */
export async function* allRuns(
  archive: Pick<ArchiveStore, "list">,
  filter: RunFilter,
  onDamaged: (run: DamagedRun) => void,
  pageSize = PAGE,
): AsyncGenerator<ListedRun> {
  let before: string | undefined;
  do {
    const page = await archive.list({ ...filter, ...(before !== undefined && { before }), limit: pageSize });
    for (const run of page.damaged) onDamaged(run);
    yield* page.runs;
    before = page.next;
  } while (before !== undefined);
}
