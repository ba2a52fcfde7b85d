import type { ArchiveStore } from "../../../archive/archive-store.ts";
import type { ListedRun } from "../../../archive/listed-run.ts";
import type { FoundRuns } from "../../../archive/run-reference.ts";
import { UsageError } from "../../exit-code.ts";

const MAX_NAMED = 5;

/**
 * Finds the run that a reference means: of several runs of one input the newest. `others` mentions the rest in one line.
 *
 * @throws UsageError when there is none or the reference is ambiguous; ArchiveError `bad-reference`.
 */
export async function selectRun(
  archive: Pick<ArchiveStore, "find">,
  reference: string,
): Promise<{ run: ListedRun; others?: string }> {
  const found = await archive.find(reference);
  if (found.kind === "one") return { run: found.run };
  const [run, ...rest] = found.kind === "many" ? found.runs : [];
  if (found.kind !== "many" || run === undefined) throw notOne(reference, found);
  const total = found.total - 1;
  const named = rest.slice(0, MAX_NAMED).map(({ run_id }) => run_id);
  const more = total > named.length ? ` and ${total - named.length} more` : "";
  return {
    run,
    others: `the newest of ${found.total} runs of this input; the others: ${named.join(", ")}${more}`,
  };
}

/**
 * Finds the distinct ids of all runs that references mean, including damaged runs. An input digest means every run of it.
 *
 * @throws UsageError when a reference matches none; ArchiveError `bad-reference`, also for an ambiguous one.
 */
export async function selectRunIds(
  archive: Pick<ArchiveStore, "findIds">,
  references: readonly string[],
): Promise<string[]> {
  const selected = new Set<string>();
  for (const reference of references) {
    const runIds = await archive.findIds(reference);
    if (runIds.length === 0) throw notOne(reference, { kind: "none" });
    for (const runId of runIds) selected.add(runId);
  }
  return [...selected];
}

/** The reference needs no escaping: one that was looked up has only digits, letters, dashes and a colon. */
function notOne(reference: string, found: FoundRuns): UsageError {
  if (found.kind !== "ambiguous") {
    return new UsageError(
      `no run or input begins with ${reference}; \`ptc runs list\` shows what is archived`,
    );
  }
  const { candidates } = found;
  return new UsageError(
    `several runs or inputs begin with ${reference}: give more of ${candidates.join(", ")}`,
  );
}
