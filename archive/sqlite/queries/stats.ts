import * as z from "zod/mini";
import { DayStats, type Stats, ToolStats, totalOf } from "../../reading/run-stats.ts";
import type { Database } from "../file/database.ts";
import { ARE_SOUND_CALLS, IS_SOUND_RUN, saturatingSum, saturatingTotal } from "./bounded-sql.ts";

const count = z.int();

const StatusCount = z.object({ status: z.string(), runs: count });

const KEPT = "max(result_bytes - returned_bytes, 0)";
const Undated = z.object({ runs: count });

/**
 * Counts over the runs that started at `sinceMs` or later. Runs with numbers that no run can have are left out.
 *
 * @throws ArchiveError
 */
export function readStats(db: Database, { sinceMs = 0 }: { sinceMs?: number } = {}): Stats {
  const statuses = db.all(
    StatusCount,
    `SELECT status, count(*) AS runs FROM runs WHERE started_at >= ? AND ${IS_SOUND_RUN} AND source <> 'replay'
     GROUP BY status ORDER BY runs DESC, status`,
    sinceMs,
  );
  const tools = db.all(
    ToolStats,
    `SELECT name AS tool, server, runs, calls, failed_calls, duration_ms, result_bytes FROM (
       SELECT tool AS id, count(*) AS runs, ${saturatingSum("calls")} AS calls,
         ${saturatingSum("failed_calls")} AS failed_calls, ${saturatingTotal("duration_ms")} AS duration_ms,
         ${saturatingSum("result_bytes")} AS result_bytes
       FROM run_tools WHERE started_at >= ? AND ${ARE_SOUND_CALLS} AND NOT replay GROUP BY tool
     ) JOIN tools USING (id) ORDER BY calls DESC, name`,
    sinceMs,
  );
  const days = db.all(
    DayStats,
    `SELECT date(day * 86400, 'unixepoch') AS day, runs, failed, calls, duration_ms, result_bytes, kept_bytes FROM (
       SELECT started_at / 86400000 AS day, count(*) AS runs, sum(status <> 'ok') AS failed,
         ${saturatingSum("calls")} AS calls, ${saturatingSum("duration_ms")} AS duration_ms,
         ${saturatingSum("result_bytes")} AS result_bytes, ${saturatingSum(KEPT)} AS kept_bytes
       FROM runs WHERE started_at >= ? AND ${IS_SOUND_RUN} AND source <> 'replay' GROUP BY 1
     ) ORDER BY day`,
    sinceMs,
  );
  const undated =
    db.get(Undated, `SELECT count(*) AS runs FROM runs WHERE ${IS_SOUND_RUN} IS NOT TRUE`)?.runs ?? 0;
  const total = totalOf(days);
  return {
    runs: total.runs,
    failures: statuses
      .filter(({ status }) => status !== "ok")
      .map(({ status, runs }) => ({ type: status, runs })),
    tools,
    days,
    total,
    undated,
  };
}
