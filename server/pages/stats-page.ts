import type { ListedRun } from "../../archive/listed-run.ts";
import type { Stats } from "../../archive/run-stats.ts";
import {
  estimateTokens,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  formatTokens,
} from "../../base/quantities.ts";
import { bucketDays, nameBucket } from "../reports/day-buckets.ts";
import { shortToolName } from "../reports/run-overview.ts";
import {
  html,
  type Markup,
  type PageAssets,
  renderPage,
  renderSection,
  renderSelection,
  renderTable,
  renderTile,
  renderTiles,
  renderTime,
} from "./page.ts";

const MAX_TOOLS = 500;

/**
 * Renders counts over many runs as a self-contained page.
 *
 * @param counted the runs that are counted. The page lists them, and its counts lead to them.
 */
export function renderStatsPage(
  stats: Stats,
  assets: PageAssets,
  nowMs: number,
  counted: CountedRuns = { runs: [], byTool: new Map() },
): string {
  const { total, days, failures, tools } = stats;
  const over = nameBucket({ from: days[0]?.day ?? "", to: days.at(-1)?.day ?? "" });
  return renderPage(
    {
      title: `ptc runs · ${over}`,
      header: html`<p class="kind">ptc runs</p><h1>${formatCount(total.runs)} ${total.runs === 1 ? "run" : "runs"}</h1><p class="where"><span>${over}, days in UTC</span></p>`,
      main: html`
${renderTotals(total, counted)}
${renderDays(stats, counted)}
${failures.length === 0 ? undefined : renderFailures(stats, counted)}
${tools.length === 0 ? undefined : renderTools(stats, counted)}
${counted.runs.length === 0 ? undefined : renderCountedRuns(stats, counted)}`,
      footer: html`Made by ptc from its archive, ${renderTime(nowMs)}. Tokens are an estimate, at 4 bytes each. Replays are not counted: they call nothing.`,
    },
    assets,
  );
}

function renderTotals(total: Stats["total"], counted: CountedRuns): Markup {
  return renderTiles([
    renderTile(
      "Failed",
      renderSelection(selectionIn(counted, total.failed, "failed"), "failed", formatCount(total.failed)),
      `${formatShare(total.failed, total.runs)} of the runs`,
    ),
    renderTile(
      "Calls",
      formatCount(total.calls),
      total.runs === 0 ? "" : `${formatCount(Math.round(total.calls / total.runs))} a run`,
    ),
    renderTile("Time", formatDuration(total.duration_ms), "of all runs together"),
    renderTile("Tools answered", formatBytes(total.result_bytes), "to programs alone"),
    renderTile(
      "Kept out of context",
      formatBytes(total.kept_bytes),
      `about ${formatTokens(estimateTokens(total.kept_bytes))} tokens`,
    ),
  ]);
}

/** A selection of runs, if the page lists runs and some match. */
function selectionIn({ runs }: CountedRuns, count: number, selection: string): string | undefined {
  return runs.length === 0 || count === 0 ? undefined : selection;
}

function renderDays(stats: Stats, counted: CountedRuns): Markup {
  const { days } = stats;
  const bars = barsOf(stats, counted);
  const chart = (
    title: string,
    countOf: (bar: (typeof bars)[number]) => number,
    show: (value: number) => string,
    badOf: (bar: (typeof bars)[number]) => number = () => 0,
  ) =>
    renderBarChart(
      title,
      bars.map((bar) => ({ ...bar, value: countOf(bar), bad: badOf(bar) })),
      show,
    );
  const charts = [
    chart(
      "Runs",
      ({ runs }) => runs,
      formatCount,
      ({ failed }) => failed,
    ),
    chart("Calls", ({ calls }) => calls, formatCount),
    chart("Time", ({ duration_ms }) => duration_ms, formatDuration),
    chart(
      "Kept out of context",
      ({ kept_bytes }) => kept_bytes,
      (value) => `${formatBytes(value)}, about ${formatTokens(estimateTokens(value))} tokens`,
    ),
  ];
  const rows = days.toReversed().map((day) => ({
    cells: [
      renderSelection(selectionIn(counted, day.runs, `d${day.day}`), day.day, day.day),
      formatCount(day.runs),
      formatCount(day.failed),
      formatCount(day.calls),
      formatDuration(day.duration_ms),
      formatBytes(day.result_bytes),
      formatBytes(day.kept_bytes),
      formatTokens(estimateTokens(day.kept_bytes)),
    ],
  }));
  const columns = ["Day", "Runs", "Failed", "Calls", "Time", "Tools answered", "Kept out", "Tokens"];
  return renderSection(
    "days",
    days.length === 1 && bars.length > 0 ? "Per hour" : "Per day",
    html`${bars.length === 0 ? undefined : html`<div class="pair">${charts}</div>`}
<details class="fold"${bars.length === 0 ? html` open` : undefined}><summary>As a table</summary>${renderTable(columns, rows)}</details>`,
  );
}

function renderFailures({ failures, total }: Stats, counted: CountedRuns): Markup {
  const most = Math.max(...failures.map(({ runs }) => runs));
  const rows = failures.map(({ type, runs }, index) => ({
    cells: [
      renderSelection(selectionIn(counted, runs, `f${index}`), type, type),
      formatCount(runs),
      formatShare(runs, total.runs),
    ],
    meter: meterCell(runs, most, "bad"),
  }));
  return renderSection("failures", "Failed runs", renderTable(["Type", "Runs", "Of all"], rows));
}

function renderTools({ tools }: Stats, counted: CountedRuns): Markup {
  const most = Math.max(...tools.map(({ result_bytes }) => result_bytes));
  const rows = tools.slice(0, MAX_TOOLS).map((tool, index) => {
    const name = shortToolName(tool.tool);
    return {
      cells: [
        renderSelection(counted.byTool.has(tool.tool) ? `t${index}` : undefined, name, name),
        formatCount(tool.runs),
        formatCount(tool.calls),
        tool.failed_calls > 0 ? html`<span class="some">${formatCount(tool.failed_calls)}</span>` : "0",
        formatDuration(tool.duration_ms),
        formatBytes(tool.result_bytes),
        formatTokens(estimateTokens(tool.result_bytes)),
      ],
      meter: meterCell(tool.result_bytes, most),
    };
  });
  const more =
    tools.length > MAX_TOOLS
      ? html`<p class="cut">The ${MAX_TOOLS} most called of ${formatCount(tools.length)} tools.</p>`
      : undefined;
  const columns = ["Tool", "Runs", "Calls", "Failed", "Time", "Answered", "Tokens"];
  return renderSection("tools", "Per tool", html`${more}${renderTable(columns, rows)}`);
}

/** A table cell with a bar for the value's share of `most`. The number is in a cell beside it. */
export function meterCell(value: number, most: number, kind = ""): Markup {
  const width = most === 0 ? 0 : Number(((100 * value) / most).toFixed(2));
  return html`<td class="meter" aria-hidden="true"><svg width="100%" height="8"><rect class="${kind}" width="${width}%" height="8" rx="3"></rect></svg></td>`;
}

export interface ChartBar {
  name: string;
  value: number;
  /** The part of `value` that is drawn as failed. */
  bad?: number;
  /** The part of `value` that is drawn darker, such as a median below a larger quantile. */
  part?: number | undefined;
  /** The runs that it counts, for a link to them. */
  selection?: string | undefined;
  /** Where else a link leads to. */
  href?: string | undefined;
}

/** The size of the drawing in its own units; the page stretches it. */
const HEIGHT = 100;
const SLOT = 10;
const GAP = 2;

/** Renders one bar for each name, as SVG without a script. A tooltip on each bar says what it stands for. */
export function renderBarChart(
  title: string,
  bars: readonly ChartBar[],
  show: (value: number) => string,
): Markup {
  const most = Math.max(0, ...bars.map(({ value }) => value));
  const scale = (value: number) => (most === 0 ? 0 : Number(((HEIGHT * value) / most).toFixed(2)));
  const width = bars.length * SLOT;
  const drawn = bars.map(({ name, value, bad = 0, part = 0, selection, href }, index) => {
    const [height, badHeight, partHeight] = [scale(value), scale(bad), scale(part)];
    const failed = bad > 0 ? `, ${show(bad)} failed` : part > 0 ? `, median ${show(part)}` : "";
    const x = index * SLOT + GAP / 2;
    const bar = html`<g><title>${name}: ${show(value)}${failed}</title><rect class="slot" x="${index * SLOT}" width="${SLOT}" height="${HEIGHT}"></rect><rect class="value" x="${x}" y="${HEIGHT - height}" width="${SLOT - GAP}" height="${height}"></rect>${bad > 0 ? html`<rect class="bad" x="${x}" y="${HEIGHT - badHeight}" width="${SLOT - GAP}" height="${badHeight}"></rect>` : undefined}${part > 0 ? html`<rect class="part" x="${x}" y="${HEIGHT - partHeight}" width="${SLOT - GAP}" height="${partHeight}"></rect>` : undefined}</g>`;
    if (value > 0 && href !== undefined)
      return html`<a href="${href}" aria-label="${name}: ${show(value)}${failed}">${bar}</a>`;
    return value === 0 ? bar : renderSelection(selection, name, bar);
  });
  // What is a picture has no links in it.
  const role = bars.some(({ href }) => href !== undefined) ? "group" : "img";
  const [first, last] = [bars[0]?.name ?? "", bars.at(-1)?.name ?? ""];
  return html`<figure class="plot"><figcaption><span>${title}</span><span class="size">most ${show(most)}</span></figcaption>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="${role}" aria-label="${title}, from ${first} to ${last}, at most ${show(most)}">${drawn}</svg>
<p class="ends"><span>${first}</span><span>${last === first ? "" : last}</span></p></figure>`;
}

const MAX_BUCKETS = 92;
/** More rows than these would make the page slow. */
const MAX_SHOWN_RUNS = 1_000;
const SHORT_ID_CHARS = 8;

/** The runs that a page counts, for its links. */
export interface CountedRuns {
  /** The newest first. Only the newest of very many runs are listed. */
  runs: readonly ListedRun[];
  /** By tool, the ids of runs that called it. Tools without an entry are not linked. */
  byTool: ReadonlyMap<string, ReadonlySet<string>>;
}

/** A bar of a page's charts: what it counts, and the selection of runs that it stands for. */
interface Bar extends Omit<Stats["days"][number], "day"> {
  name: string;
  selection: string | undefined;
}

/** The bars of the charts: days, or the hours of one day. Empty for a single day whose runs are not all known. */
function barsOf({ days, total }: Stats, { runs }: CountedRuns): Bar[] {
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
function renderCountedRuns({ days, failures, tools, total }: Stats, counted: CountedRuns): Markup {
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
export interface HourBucket extends Omit<Stats["days"][number], "day"> {
  /** `YYYY-MM-DD HH:00`, in UTC. */
  name: string;
}

/** The hour of the day in which a run started, from 0 to 23, in UTC. */
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
