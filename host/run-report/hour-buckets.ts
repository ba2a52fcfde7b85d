import type { ListedRun } from "../../archive/reading/listed-run.ts";
import type { Stats } from "../../archive/reading/run-stats.ts";

const HOURS = 24;
const HOUR_MS = 60 * 60 * 1000;

/** Counts over one hour of a day. */
export interface HourBucket extends Omit<Stats["days"][number], "day"> {
  /** `YYYY-MM-DD HH:00`, in UTC. */
  name: string;
}

/** The hour of its day in which a run started, from 0 to 23, in UTC. */
export function hourOf({ started_at }: Pick<ListedRun, "started_at">): number {
  return Math.floor(started_at / HOUR_MS) % HOURS;
}

/** Counts the runs of one day by the hour, those without a run included. */
export function bucketHours(day: string, runs: readonly ListedRun[]): HourBucket[] {
  const buckets = Array.from({ length: HOURS }, (_, hour): HourBucket => {
    const name = `${day} ${String(hour).padStart(2, "0")}:00`;
    return { name, runs: 0, failed: 0, calls: 0, duration_ms: 0, result_bytes: 0, kept_bytes: 0 };
  });
  for (const run of runs) {
    const bucket = buckets[hourOf(run)];
    if (bucket === undefined) continue;
    bucket.runs++;
    if (run.status !== "ok") bucket.failed++;
    bucket.calls += run.calls;
    bucket.duration_ms += run.duration_ms;
    bucket.result_bytes += run.result_bytes;
    bucket.kept_bytes += Math.max(0, run.result_bytes - run.returned_bytes);
  }
  return buckets;
}
