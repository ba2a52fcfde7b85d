import * as z from "zod/mini";

const count = z.int();

export const ToolStats = z.object({
  tool: z.string(),
  server: z.string(),
  /** Runs that called it. */
  runs: count,
  calls: count,
  failed_calls: count,
  duration_ms: z.number(),
  result_bytes: count,
});
export type ToolStats = z.infer<typeof ToolStats>;

export const DayStats = z.object({
  /** `YYYY-MM-DD`, in UTC. */
  day: z.string(),
  runs: count,
  failed: count,
  calls: count,
  duration_ms: count,
  result_bytes: count,
  /** Bytes that tools returned and that no model saw. */
  kept_bytes: count,
});
export type DayStats = z.infer<typeof DayStats>;

/** Counts over many runs. Excludes replays, because they call no server. */
export interface Stats {
  runs: number;
  /** By type, most frequent first. */
  failures: { type: string; runs: number }[];
  /** Most called first. */
  tools: ToolStats[];
  /** Days with runs, oldest first. */
  days: DayStats[];
  /** Over all days. */
  total: Omit<DayStats, "day">;
  /** The number of runs with an invalid date or other impossible numbers, which the counts exclude. */
  undated: number;
}

/** How long half of some runs took at most, and how long 95 of a hundred, in milliseconds, by the nearest rank. */
export const Timing = z.object({ p50: count, p95: count });
export type Timing = z.infer<typeof Timing>;

export const DayTiming = z.extend(Timing, {
  /** `YYYY-MM-DD`, in UTC. */
  day: z.string(),
});
export type DayTiming = z.infer<typeof DayTiming>;

/** Times of runs, without replays. */
export interface Timings {
  /** Over all days; 0 without runs. */
  total: Timing;
  /** Days with runs, oldest first. */
  days: DayTiming[];
}

/** The sums over all days, each at most the largest safe integer. */
export function totalOf(days: readonly DayStats[]): Omit<DayStats, "day"> {
  const sum = (key: Exclude<keyof DayStats, "day">) =>
    days.reduce((total, day) => Math.min(total + day[key], Number.MAX_SAFE_INTEGER), 0);
  return {
    runs: sum("runs"),
    failed: sum("failed"),
    calls: sum("calls"),
    duration_ms: sum("duration_ms"),
    result_bytes: sum("result_bytes"),
    kept_bytes: sum("kept_bytes"),
  };
}
