import type { Database } from "../../../archive/database.ts";
import { findRuns } from "../../../archive/find-runs.ts";
import { type ListedRun, listRuns } from "../../../archive/list-runs.ts";
import { UsageError } from "../../exit-code.ts";

const PAGE = 1_000;
const MAX_NAMED = 5;

/**
 * The run that a person means: of several runs of one input the newest. `others` tells of the rest, in one line.
 *
 * @throws UsageError when there is none, or it could be several; ArchiveError `bad-reference`.
 */
export function selectRun(db: Database, reference: string): { run: ListedRun; others?: string } {
  const found = findRuns(db, reference);
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
 * All runs that a person means: of an input digest every run of it, the newest first.
 *
 * @throws UsageError when there is none, or it could be several inputs or runs; ArchiveError `bad-reference`.
 */
export function selectRuns(db: Database, reference: string): ListedRun[] {
  const found = findRuns(db, reference);
  if (found.kind === "one") return [found.run];
  if (found.kind === "many") return [...allRuns(db, { inputDigest: found.inputDigest })];
  throw notOne(reference, found);
}

/** Every run that matches, the newest first, a page at a time. */
export function* allRuns(
  db: Database,
  filter: { sinceMs?: number; inputDigest?: string },
  pageSize = PAGE,
): Generator<ListedRun> {
  let last: ListedRun | undefined;
  for (;;) {
    const before = last === undefined ? {} : { before: { startedAt: last.started_at, runId: last.run_id } };
    const page = listRuns(db, { ...filter, ...before, limit: pageSize });
    yield* page;
    last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
  }
}

/** The reference has been checked: it holds nothing but digits and letters. */
function notOne(reference: string, found: ReturnType<typeof findRuns>): UsageError {
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
