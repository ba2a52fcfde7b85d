import type { ListedRun } from "../../archive/listed-run.ts";
import type { RunRecord } from "../../archive/run-record.ts";
import { type DayStats, type Stats, type ToolStats, totalOf } from "../../archive/run-stats.ts";
import { summarizeTools } from "../../archive/run-summary.ts";

/** What `ArchiveStore.stats` says of some runs, counted one by one. */
export function countRuns(runs: readonly { record: RunRecord; listed: ListedRun }[]): Stats {
  const counted = runs.filter(({ record }) => record.source !== "replay");
  const failures = new Map<string, number>();
  const tools = new Map<string, ToolStats>();
  const days = new Map<string, DayStats>();
  for (const { record, listed } of counted) {
    if (listed.status !== "ok") failures.set(listed.status, (failures.get(listed.status) ?? 0) + 1);
    for (const called of summarizeTools(record.calls)) {
      const key = JSON.stringify([called.tool, called.server]);
      const known = tools.get(key) ?? {
        tool: called.tool,
        server: called.server,
        runs: 0,
        calls: 0,
        failed_calls: 0,
        duration_ms: 0,
        result_bytes: 0,
      };
      tools.set(key, {
        ...known,
        runs: known.runs + 1,
        calls: known.calls + called.calls,
        failed_calls: known.failed_calls + called.failed_calls,
        duration_ms: known.duration_ms + called.duration_ms,
        result_bytes: known.result_bytes + called.result_bytes,
      });
    }
    const day = new Date(record.started_at).toISOString().slice(0, 10);
    const known = days.get(day) ?? {
      day,
      runs: 0,
      failed: 0,
      calls: 0,
      duration_ms: 0,
      result_bytes: 0,
      kept_bytes: 0,
    };
    days.set(day, {
      day,
      runs: known.runs + 1,
      failed: known.failed + (listed.status === "ok" ? 0 : 1),
      calls: known.calls + listed.calls,
      duration_ms: known.duration_ms + listed.duration_ms,
      result_bytes: known.result_bytes + listed.result_bytes,
      kept_bytes: known.kept_bytes + Math.max(listed.result_bytes - listed.returned_bytes, 0),
    });
  }
  const inOrder = [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
  const total = totalOf(inOrder);
  return {
    runs: total.runs,
    failures: [...failures]
      .map(([type, count]) => ({ type, runs: count }))
      .sort((a, b) => b.runs - a.runs || (a.type < b.type ? -1 : 1)),
    tools: [...tools.values()].sort((a, b) => b.calls - a.calls || (a.tool < b.tool ? -1 : 1)),
    days: inOrder,
    total,
    undated: 0,
  };
}
