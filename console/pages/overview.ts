/** The first page: the runs of the last days. */
import { type ArchiveStore, allRuns } from "../../archive/archive-store.ts";
import type { ListedRun } from "../../archive/listed-run.ts";
import { type DayStats, type Stats, type Timing, type Timings, totalOf } from "../../archive/run-stats.ts";
import {
  estimateTokens,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  formatTokens,
} from "../../base/quantities.ts";
import {
  html,
  type Markup,
  renderSection,
  renderTable,
  renderTile,
  renderTiles,
} from "../../server/pages/page.ts";
import { bucketHours, hourOf, meterCell, renderBarChart } from "../../server/pages/stats-page.ts";
import { bucketDays, nameBucket } from "../../server/reports/day-buckets.ts";
import { shortToolName } from "../../server/reports/run-overview.ts";
import type { Answers, Asked, Routes } from "../answers.ts";
import { BASE, type ConsolePage, renderHeading, renderNothing } from "../shell.ts";
import type { Rights } from "../viewer.ts";
import { runRow } from "./runs.ts";

/** How far back the page looks. */
export const OVERVIEW_DAYS = 30;
const MAX_TOOLS = 12;
/** How many runs are listed. */
const NEWEST_RUNS = 8;

interface OverviewPage {
  stats: Pick<Stats, "days" | "failures" | "total" | "tools">;
  timings: Timings;
  /** The newest runs of these days. */
  runs: readonly ListedRun[];
  /** All runs, where they are of one day and few enough to be counted by the hour. */
  ofOneDay?: readonly ListedRun[] | undefined;
  /** How many of the newest runs were counted, where not all were. */
  newest?: number | undefined;
  waiting: number;
  rights: Rights;
}

function renderOverviewPage(page: OverviewPage): ConsolePage {
  const { stats, timings, runs, newest, waiting, rights, ofOneDay } = page;
  const { total, days, failures, tools } = stats;
  const header = renderHeading(
    "Overview",
    `the last ${OVERVIEW_DAYS} days, in UTC${rights.runs === "all" ? "" : ", your runs"}`,
  );
  if (total.runs === 0)
    return {
      title: "Overview",
      place: "" as const,
      header,
      main: html`<div data-live="runs">${renderNothing(html`No run was archived in the last ${OVERVIEW_DAYS} days. <code>ptc run program.ts</code> makes one, and so does a model behind <code>ptc serve</code>.`)}</div>`,
    };
  const latency = new Map(timings.days.map((each) => [each.day, each]));
  const all = timings.total;
  const waits =
    waiting === 0
      ? undefined
      : html`<p class="waits"><a class="button primary" href="${BASE}/inbox">${countOf(waiting)} for you</a></p>`;
  return {
    title: "Overview",
    place: "",
    header,
    main: html`<div data-live="waiting">${waits}</div><div data-live="runs">${renderTiles([
      renderTile(
        "Runs",
        html`<a href="${BASE}/runs">${formatCount(total.runs)}</a>`,
        `${formatCount(total.calls)} calls`,
      ),
      renderTile(
        "Failed",
        html`<a href="${BASE}/runs?status=failed">${formatCount(total.failed)}</a>`,
        `${formatShare(total.failed, total.runs)} of the runs`,
      ),
      renderTile(
        "Kept out of context",
        formatTokens(estimateTokens(total.kept_bytes)),
        `tokens, estimated; ${formatBytes(total.kept_bytes)}`,
      ),
      renderTile("Median time", formatDuration(all.p50), `p95 ${formatDuration(all.p95)}`),
    ])}
${renderDays(days, latency, newest, ofOneDay)}
${failures.length === 0 ? undefined : renderFailures(failures, total.runs)}
${tools.length === 0 ? undefined : renderTools(tools)}
${renderSection(
  "newest",
  "Newest runs",
  renderTable(
    ["Run", "Started", "Status", "Program", "Calls", "Time", "Kept out"],
    runs.map((run) => runRow(run, rights)),
  ),
  html`<a href="${BASE}/runs">All runs</a>`,
)}</div>`,
    footer: html`Made by ptc from its archive. Tokens are an estimate, at 4 bytes each. Replays are not counted.`,
  };
}

function countOf(waiting: number): string {
  return waiting === 1 ? "1 question waits" : `${formatCount(waiting)} questions wait`;
}

/** Quantiles by the nearest rank; 0 without values. */
export function quantiles(values: readonly number[]): Timing {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95) };
}

export function timeListed(runs: readonly ListedRun[]): Timings {
  const timingOf = (each: readonly ListedRun[]) => quantiles(each.map(({ duration_ms }) => duration_ms));
  const byDay = Map.groupBy(runs, ({ started_at }) => new Date(started_at).toISOString().slice(0, 10));
  return { total: timingOf(runs), days: [...byDay].map(([day, each]) => ({ day, ...timingOf(each) })) };
}

/** Counts over listed runs, for a viewer who sees only their own. Lists do not name tools. */
function countListed(runs: readonly ListedRun[]): OverviewPage["stats"] {
  const counted = runs.filter(({ source }) => source !== "replay");
  const days = [...Map.groupBy(counted, ({ started_at }) => new Date(started_at).toISOString().slice(0, 10))]
    .map(([day, each]): DayStats => {
      const sum = (of: (run: ListedRun) => number) => each.reduce((total, run) => total + of(run), 0);
      return {
        day,
        runs: each.length,
        failed: each.filter(({ status }) => status !== "ok").length,
        calls: sum(({ calls }) => calls),
        duration_ms: sum(({ duration_ms }) => duration_ms),
        result_bytes: sum(({ result_bytes }) => result_bytes),
        kept_bytes: sum(({ result_bytes, returned_bytes }) => Math.max(0, result_bytes - returned_bytes)),
      };
    })
    .sort((a, b) => (a.day < b.day ? -1 : 1));
  const failures = [
    ...Map.groupBy(
      counted.filter(({ status }) => status !== "ok"),
      ({ status }) => status,
    ),
  ]
    .map(([type, each]) => ({ type, runs: each.length }))
    .sort((a, b) => b.runs - a.runs);
  return { days, failures, total: totalOf(days), tools: [] };
}

/** A bar of each chart. */
interface PeriodBar extends Timing, Omit<DayStats, "day" | "duration_ms" | "result_bytes"> {
  name: string;
  href?: string;
}

function dayBars(
  days: Stats["days"],
  latency: ReadonlyMap<string, Timing>,
  link: (days: { from: string; to: string }) => string,
): PeriodBar[] {
  return bucketDays(days, OVERVIEW_DAYS + 1).map((bucket) => {
    const { p50 = 0, p95 = 0 } = latency.get(bucket.from) ?? {};
    return { ...bucket, name: nameBucket(bucket), href: link(bucket), p50, p95 };
  });
}

/** One day in a chart of days is a single block. */
function hourBars([first]: Stats["days"], runs: readonly ListedRun[]): PeriodBar[] {
  const byHour = Map.groupBy(runs, hourOf);
  return bucketHours(first?.day ?? "", runs).map((bucket, hour) => ({
    ...bucket,
    name: `${bucket.name} UTC`,
    ...quantiles((byHour.get(hour) ?? []).map(({ duration_ms }) => duration_ms)),
  }));
}

function renderDays(
  days: Stats["days"],
  latency: ReadonlyMap<string, Timing>,
  newest: number | undefined,
  ofOneDay: readonly ListedRun[] | undefined,
): Markup {
  const dayLink = ({ from, to }: { from: string; to: string }) => `${BASE}/runs?since=${from}&until=${to}`;
  const bars = ofOneDay === undefined ? dayBars(days, latency, dayLink) : hourBars(days, ofOneDay);
  const charts = [
    renderBarChart(
      "Runs",
      bars.map((bar) => ({ name: bar.name, value: bar.runs, bad: bar.failed, href: bar.href })),
      formatCount,
    ),
    renderBarChart(
      "Tokens kept out of context",
      bars.map((bar) => ({ name: bar.name, value: estimateTokens(bar.kept_bytes) })),
      (value) => formatTokens(value),
    ),
    renderBarChart(
      "Time of a run, p95 and median",
      bars.map(({ name, p50, p95 }) => ({ name, value: p95, part: p50 })),
      formatDuration,
    ),
    renderBarChart(
      "Calls",
      bars.map((bar) => ({ name: bar.name, value: bar.calls })),
      formatCount,
    ),
  ];
  const rows = days.toReversed().map((day) => {
    const times = latency.get(day.day);
    return {
      cells: [
        html`<a href="${dayLink({ from: day.day, to: day.day })}">${day.day}</a>`,
        formatCount(day.runs),
        day.failed > 0 ? html`<span class="some">${formatCount(day.failed)}</span>` : "0",
        formatCount(day.calls),
        times === undefined ? "" : formatDuration(times.p50),
        times === undefined ? "" : formatDuration(times.p95),
        formatTokens(estimateTokens(day.kept_bytes)),
      ],
    };
  });
  const note =
    newest === undefined
      ? undefined
      : html`<p class="cut">All of this is about the newest ${formatCount(newest)} runs.</p>`;
  return renderSection(
    "days",
    ofOneDay === undefined ? "By day" : "By hour",
    html`${note}<div class="pair">${charts}</div><details class="fold"><summary>As a table</summary>${renderTable(["Day", "Runs", "Failed", "Calls", "p50", "p95", "Tokens kept out"], rows)}</details>`,
  );
}

function renderFailures(failures: Stats["failures"], runs: number): Markup {
  const most = Math.max(...failures.map((each) => each.runs));
  const rows = failures.map(({ type, runs: failed }) => ({
    cells: [
      html`<a href="${BASE}/runs?status=${encodeURIComponent(type)}">${type}</a>`,
      formatCount(failed),
      formatShare(failed, runs),
    ],
    meter: meterCell(failed, most, "bad"),
  }));
  return renderSection("failures", "Failures by cause", renderTable(["Cause", "Runs", "Of all"], rows));
}

function renderTools(tools: Stats["tools"]): Markup {
  const shown = tools.slice(0, MAX_TOOLS);
  const most = Math.max(...shown.map(({ calls }) => calls));
  const rows = shown.map((tool) => ({
    cells: [
      html`<a href="${BASE}/runs?tool=${encodeURIComponent(tool.tool)}">${shortToolName(tool.tool)}</a>`,
      formatCount(tool.calls),
      tool.failed_calls > 0 ? html`<span class="some">${formatCount(tool.failed_calls)}</span>` : "0",
      formatDuration(tool.calls === 0 ? 0 : tool.duration_ms / tool.calls),
      formatTokens(estimateTokens(tool.result_bytes)),
    ],
    meter: meterCell(tool.calls, most),
  }));
  return renderSection(
    "tools",
    "Most called tools",
    renderTable(["Tool", "Calls", "Failed", "A call takes", "Tokens answered"], rows),
  );
}

/** How many runs are counted for a viewer who sees only their own. */
const MAX_COUNTED_RUNS = 2_000;
export const DAY_MS = 86_400_000;

/** All runs since a time, if their number matches the count. */
async function listAll(
  archive: Pick<ArchiveStore, "list">,
  sinceMs: number,
  counted: number,
): Promise<ListedRun[] | undefined> {
  const found: ListedRun[] = [];
  if (counted > MAX_COUNTED_RUNS) return undefined;
  for await (const run of allRuns(archive, { sinceMs }, () => {})) {
    if (run.source !== "replay") found.push(run);
    if (found.length > MAX_COUNTED_RUNS) return undefined;
  }
  return found.length === counted ? found : undefined;
}

/** Registers the routes of the overview. */
export function overviewRoutes(app: Routes, answers: Answers): void {
  app.get("/", (c) => answers.page(c, () => showOverview(c)));

  async function showOverview(c: Asked): Promise<ConsolePage> {
    const { archive, now } = answers.parts;
    const rights = c.get("rights");
    const sinceMs = Math.floor(now() / DAY_MS) * DAY_MS - (OVERVIEW_DAYS - 1) * DAY_MS;
    const waiting = await answers.waiting(c).catch(() => []);
    const open = waiting.filter(({ isAnswered }) => !isAnswered).length;
    const shown = { waiting: open, rights };
    if (!(await archive.exists()))
      return renderOverviewPage({ stats: countListed([]), timings: timeListed([]), runs: [], ...shown });
    if (c.get("sight").seesAll) {
      const [stats, timings, { runs }] = await Promise.all([
        archive.stats({ sinceMs }),
        archive.timings({ sinceMs }),
        archive.list({ sinceMs, limit: NEWEST_RUNS }),
      ]);
      const ofOneDay =
        stats.days.length === 1 ? await listAll(archive, sinceMs, stats.total.runs) : undefined;
      return renderOverviewPage({ stats, timings, runs, ofOneDay, ...shown });
    }
    const runs: ListedRun[] = [];
    let newest: number | undefined;
    for await (const run of allRuns(archive, { ...answers.own(c), sinceMs }, () => {})) {
      if (run.source === "replay") continue;
      if (runs.length >= MAX_COUNTED_RUNS) {
        newest = runs.length;
        break;
      }
      runs.push(run);
    }
    const stats = countListed(runs);
    const ofOneDay = stats.days.length === 1 && newest === undefined ? runs : undefined;
    return renderOverviewPage({
      stats,
      ofOneDay,
      timings: timeListed(runs),
      newest,
      ...shown,
      runs: runs.slice(0, NEWEST_RUNS),
    });
  }
}
