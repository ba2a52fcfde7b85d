import * as z from "zod/mini";
import type { Database } from "./database.ts";

const count = z.int();

const StatusCount = z.object({ status: z.string(), runs: count });

const ToolStats = z.object({
  tool: z.string(),
  server: z.string(),
  /** Runs that called it. */
  runs: count,
  calls: count,
  failed_calls: count,
  duration_ms: z.number(),
  result_bytes: count,
});

const DayStats = z.object({
  /** `YYYY-MM-DD`, in UTC. */
  day: z.string(),
  runs: count,
  failed: count,
  calls: count,
  duration_ms: count,
  result_bytes: count,
  /** Bytes that tools answered and no model was shown. */
  kept_bytes: count,
});
type DayStats = z.infer<typeof DayStats>;

export interface Stats {
  runs: number;
  /** By type, the most frequent first. */
  failures: { type: string; runs: number }[];
  /** The most called first. */
  tools: z.infer<typeof ToolStats>[];
  /** Days on which there were runs, the oldest first. */
  days: DayStats[];
  /** Over all days. */
  total: Omit<DayStats, "day">;
}

const KEPT = "max(result_bytes - returned_bytes, 0)";

/**
 * Counts over the runs that started at `sinceMs` or later. Replays are left out: they call nothing, and spare nobody
 * anything.
 *
 * @throws ArchiveError
 */
export function readStats(db: Database, { sinceMs = 0 }: { sinceMs?: number } = {}): Stats {
  const statuses = db.all(
    StatusCount,
    "SELECT status, count(*) AS runs FROM runs WHERE started_at >= ? AND source <> 'replay' GROUP BY status ORDER BY runs DESC, status",
    sinceMs,
  );
  const tools = db.all(
    ToolStats,
    `SELECT name AS tool, server, runs, calls, failed_calls, duration_ms, result_bytes FROM (
       SELECT tool AS id, count(*) AS runs, sum(calls) AS calls, sum(failed_calls) AS failed_calls,
         sum(duration_ms) AS duration_ms, sum(result_bytes) AS result_bytes
       FROM run_tools WHERE started_at >= ? AND NOT replay GROUP BY tool
     ) JOIN tools USING (id) ORDER BY calls DESC, name`,
    sinceMs,
  );
  const days = db.all(
    DayStats,
    `SELECT date(day * 86400, 'unixepoch') AS day, runs, failed, calls, duration_ms, result_bytes, kept_bytes FROM (
       SELECT started_at / 86400000 AS day, count(*) AS runs, sum(status <> 'ok') AS failed, sum(calls) AS calls,
         sum(duration_ms) AS duration_ms, sum(result_bytes) AS result_bytes, sum(${KEPT}) AS kept_bytes
       FROM runs WHERE started_at >= ? AND source <> 'replay' GROUP BY 1
     ) ORDER BY day`,
    sinceMs,
  );
  const sum = (key: Exclude<keyof DayStats, "day">) => days.reduce((total, day) => total + day[key], 0);
  return {
    runs: sum("runs"),
    failures: statuses
      .filter(({ status }) => status !== "ok")
      .map(({ status, runs }) => ({ type: status, runs })),
    tools,
    days,
    total: {
      runs: sum("runs"),
      failed: sum("failed"),
      calls: sum("calls"),
      duration_ms: sum("duration_ms"),
      result_bytes: sum("result_bytes"),
      kept_bytes: sum("kept_bytes"),
    },
  };
}
