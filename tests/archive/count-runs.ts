import { ListedRun } from "../../archive/listed-run.ts";
import {
  type DayStats,
  type Stats,
  type Timing,
  type Timings,
  type ToolStats,
  totalOf,
} from "../../archive/run-stats.ts";
import type { RunSummary } from "../../archive/run-summary.ts";
import type { StoredRun, StoredTool } from "../../archive/verification.ts";

/** A run as it is kept: what `StoredRows` yields, with nothing checked. */
export interface KeptRow extends Omit<StoredRun, "columns" | "tools"> {
  columns: RunSummary;
  tools: StoredTool[];
}

const NOTHING = { runs: 0, calls: 0, failed_calls: 0, duration_ms: 0, result_bytes: 0 };
const NO_DAY = { runs: 0, failed: 0, calls: 0, duration_ms: 0, result_bytes: 0, kept_bytes: 0 };

function isDated({ columns, importedAt, origin }: KeptRow): boolean {
  return ListedRun.safeParse({ ...columns, imported_at: importedAt, origin }).success;
}

/** What `ArchiveStore.timings` says of some runs, sorted one by one. */
export function timeRuns(rows: readonly KeptRow[], sinceMs: number): Timings {
  const counted = rows
    .filter(isDated)
    .map(({ columns }) => columns)
    .filter(({ source, started_at }) => source !== "replay" && started_at >= sinceMs);
  const timingOf = (runs: typeof counted): Timing => {
    const sorted = runs.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b);
    const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
    return { p50: at(0.5), p95: at(0.95) };
  };
  const byDay = Map.groupBy(counted, ({ started_at }) => new Date(started_at).toISOString().slice(0, 10));
  const days = [...byDay].map(([day, runs]) => ({ day, ...timingOf(runs) }));
  return { total: timingOf(counted), days: days.sort((a, b) => (a.day < b.day ? -1 : 1)) };
}

/** What `ArchiveStore.stats` says of some runs, counted one by one. */
export function countRuns(rows: readonly KeptRow[], sinceMs: number): Stats {
  const failures = new Map<string, number>();
  const tools = new Map<string, ToolStats>();
  const days = new Map<string, DayStats>();
  for (const row of rows.filter(isDated)) {
    const { source, started_at, status, calls, duration_ms, result_bytes, returned_bytes } = row.columns;
    if (source === "replay" || started_at < sinceMs) continue;
    if (status !== "ok") failures.set(status, (failures.get(status) ?? 0) + 1);
    for (const called of row.tools) {
      const { tool, server } = called;
      const known = tools.get(`${server} ${tool}`) ?? { tool, server, ...NOTHING };
      known.runs += 1;
      for (const key of ["calls", "failed_calls", "duration_ms", "result_bytes"] as const)
        known[key] += called[key];
      tools.set(`${server} ${tool}`, known);
    }
    const name = new Date(started_at).toISOString().slice(0, 10);
    const day = days.get(name) ?? { day: name, ...NO_DAY };
    day.runs += 1;
    day.failed += status === "ok" ? 0 : 1;
    day.calls += calls;
    day.duration_ms += duration_ms;
    day.result_bytes += result_bytes;
    day.kept_bytes += Math.max(result_bytes - returned_bytes, 0);
    days.set(name, day);
  }
  const inOrder = [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
  const total = totalOf(inOrder);
  return {
    runs: total.runs,
    failures: [...failures]
      .map(([type, runs]) => ({ type, runs }))
      .sort((a, b) => b.runs - a.runs || (a.type < b.type ? -1 : 1)),
    tools: [...tools.values()].sort((a, b) => b.calls - a.calls || (a.tool < b.tool ? -1 : 1)),
    days: inOrder,
    total,
    undated: rows.filter((row) => !isDated(row)).length,
  };
}
