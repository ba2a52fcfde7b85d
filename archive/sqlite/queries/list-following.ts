import * as z from "zod/mini";
import type { FollowingRuns } from "../../reading/following-runs.ts";
import { readChainEnd } from "../file/chain-ends.ts";
import type { Database } from "../file/database.ts";

const RunRow = z.object({ id: z.int(), run_id: z.string(), source: z.string() });
const CalledRow = z.object({ run: z.int(), name: z.string() });

/** The runs after a position, in the order in which they were archived. Rows that ptc did not write are left out. */
export function listFollowing(db: Database, position: number, limit: number): FollowingRuns {
  const rows = db
    .allParsed(
      RunRow,
      "SELECT id, run_id, source FROM runs WHERE id > ? ORDER BY id LIMIT ?",
      position,
      limit,
    )
    .flatMap((each) => (each.ok ? [each.row] : []));
  const called = db.all(
    CalledRow,
    "SELECT run, name FROM run_tools JOIN tools ON tools.id = run_tools.tool WHERE run IN (SELECT value FROM json_each(?))",
    JSON.stringify(rows.map(({ id }) => id)),
  );
  const tools = new Map<number, string[]>();
  for (const { run, name } of called) tools.set(run, [...(tools.get(run) ?? []), name]);
  return {
    runs: rows.map(({ id, run_id, source }) => ({
      position: id,
      runId: run_id,
      source,
      tools: tools.get(id) ?? [],
    })),
    newest: readChainEnd(db, "head").id,
  };
}
