import type { Stats } from "../../archive/run-stats.ts";

/** Counts over one or more consecutive days. */
export interface DayBucket extends DayCounts {
  /** `YYYY-MM-DD`, in UTC. */
  from: string;
  /** The last day; equal to `from` for a single day. */
  to: string;
}

type DayCounts = Omit<Stats["days"][number], "day">;

const DAY_MS = 24 * 60 * 60 * 1000;

/** Groups the days from the first to the last with a run, including days without any, into buckets of equal length. */
export function bucketDays(days: Stats["days"], maxBuckets: number): DayBucket[] {
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return [];
  const start = Date.parse(first.day);
  const total = Math.round((Date.parse(last.day) - start) / DAY_MS) + 1;
  const daysEach = Math.ceil(total / maxBuckets);
  const buckets = Array.from({ length: Math.ceil(total / daysEach) }, (_, index): DayBucket => {
    const lastDay = Math.min((index + 1) * daysEach, total) - 1;
    return { from: dayAt(start, index * daysEach), to: dayAt(start, lastDay), ...NOTHING };
  });
  for (const { day, ...counts } of days) {
    const bucket = buckets[Math.floor((Date.parse(day) - start) / DAY_MS / daysEach)];
    if (bucket === undefined) continue;
    for (const key of Object.keys(NOTHING) as (keyof DayCounts)[]) bucket[key] += counts[key];
  }
  return buckets;
}

/** `2026-11-21`, or `2026-11-21 to 2026-11-23`. */
export function nameBucket({ from, to }: Pick<DayBucket, "from" | "to">): string {
  return from === to ? from : `${from} to ${to}`;
}

const NOTHING: DayCounts = { runs: 0, failed: 0, calls: 0, duration_ms: 0, result_bytes: 0, kept_bytes: 0 };

function dayAt(startMs: number, days: number): string {
  return new Date(startMs + days * DAY_MS).toISOString().slice(0, 10);
}
