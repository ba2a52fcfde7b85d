import type { ListedRun } from "../../archive/listed-run.ts";
import type { Stats } from "../../archive/run-stats.ts";
import { formatBytes, formatCount, formatDuration } from "../../base/quantities.ts";
import { bucketDays, nameBucket } from "../reports/day-buckets.ts";
import { html, type Markup } from "./markup.ts";
import { renderSection, renderTime } from "./page-parts.ts";
import { renderTable } from "./page-table.ts";

const MAX_BUCKETS = 92;
/** More rows than these would make the page slow. */
const MAX_SHOWN_RUNS = 1_000;
const SHORT_ID_CHARS = 8;

/** The runs that a page counts, for its links. */
export interface CountedRuns {
  /** The newest first; of very many runs, the newest. */
  runs: readonly ListedRun[];
  /** By tool, the ids of runs that called it. Tools without an entry are not linked. */
  byTool: ReadonlyMap<string, ReadonlySet<string>>;
}

/** A bar of a page's charts: what it counts, and the selection of runs that it stands for. */
interface Bar extends Omit<Stats["days"][number], "day"> {
  name: string;
  selection: string | undefined;
}

/** The bars of the charts: days, or the hours of one day. None for one day whose runs are not all known. */
export function barsOf({ days, total }: Stats, { runs }: CountedRuns): Bar[] {
  const [first] = days;
  if (first === undefined || days.length > 1) {
    return bucketDays(days, MAX_BUCKETS).map((bucket, index) => ({
      ...bucket,
      name: nameBucket(bucket),
      selection: runs.length === 0 ? undefined : `b${index}`,
    }));
  }
  if (runs.length < total.runs) return [];
  return bucketHours(first.day, runs).map((bucket, hour) => ({ ...bucket, selection: `h${hour}` }));
}

/** Lists the runs of a page. Each row names the selections that it belongs to: its day, its bar, its failure, its tools. */
export function renderCountedRuns({ days, failures, tools, total }: Stats, counted: CountedRuns): Markup {
  const buckets = bucketDays(days, MAX_BUCKETS);
  const shown = counted.runs.slice(0, MAX_SHOWN_RUNS);
  const linked = tools.flatMap(({ tool }, index) => {
    const ids = counted.byTool.get(tool);
    return ids === undefined ? [] : [{ selection: `t${index}`, ids }];
  });
  const rows = shown.map((run) => {
    const day = new Date(run.started_at).toISOString().slice(0, 10);
    const bucket = buckets.findIndex(({ from, to }) => from <= day && day <= to);
    const failure = failures.findIndex(({ type }) => type === run.status);
    const id = run.run_id.slice(0, SHORT_ID_CHARS);
    return {
      cells: [
        html`<code class="run-id" title="ptc runs show ${id}">${id}</code>`,
        renderTime(run.started_at),
        run.status === "ok" ? "ok" : html`<span class="some">${run.status}</span>`,
        html`<span class="program">${run.title}</span>`,
        formatCount(run.calls),
        formatDuration(run.duration_ms),
        formatBytes(Math.max(0, run.result_bytes - run.returned_bytes)),
      ],
      selections: [
        `b${bucket}`,
        `h${hourOf(run)}`,
        `d${day}`,
        ...(run.status === "ok" ? [] : ["failed", `f${failure}`]),
        ...linked.filter(({ ids }) => ids.has(run.run_id)).map(({ selection }) => selection),
      ],
    };
  });
  const cut =
    shown.length < total.runs
      ? html`<p class="cut">The newest ${formatCount(shown.length)} of ${formatCount(total.runs)} runs; <code>ptc runs list --limit ${total.runs}</code> lists all.</p>`
      : undefined;
  return renderSection(
    "runs",
    html`Runs <span class="count" id="runs-shown">${formatCount(shown.length)}</span>`,
    html`${cut}<p class="aside">One run in full: <code>ptc runs show RUN --html run.html</code></p>${renderTable(["Run", "Started", "Status", "Program", "Calls", "Time", "Kept out"], rows)}<p class="nothing" id="runs-none" hidden>None of these is in the list.</p>`,
    html`<button type="button" class="scripted" id="runs-all" hidden>Show all</button>`,
  );
}

const HOURS = 24;
const HOUR_MS = 60 * 60 * 1000;

/** Counts over one hour of a day. */
interface HourBucket extends Omit<Stats["days"][number], "day"> {
  /** `YYYY-MM-DD HH:00`, in UTC. */
  name: string;
}

/** The hour of its day in which a run started, from 0 to 23, in UTC. */
function hourOf({ started_at }: Pick<ListedRun, "started_at">): number {
  return Math.floor(started_at / HOUR_MS) % HOURS;
}

/** Counts the runs of one day by the hour, those without a run included. */
function bucketHours(day: string, runs: readonly ListedRun[]): HourBucket[] {
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
