import type { Stats } from "../../archive/run-stats.ts";
import {
  estimateTokens,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  formatTokens,
} from "../../base/quantities.ts";
import { nameBucket } from "../reports/day-buckets.ts";
import { shortToolName } from "../reports/run-overview.ts";
import { barsOf, type CountedRuns, renderCountedRuns } from "./counted-runs.ts";
import { html, type Markup } from "./markup.ts";
import { type PageAssets, renderPage } from "./page.ts";
import { renderSection, renderTile, renderTiles, renderTime } from "./page-parts.ts";
import { renderSelection, renderTable } from "./page-table.ts";

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

/** A selection of runs, where there are any and the page lists runs. */
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
function meterCell(value: number, most: number, kind = ""): Markup {
  const width = most === 0 ? 0 : Number(((100 * value) / most).toFixed(2));
  return html`<td class="meter" aria-hidden="true"><svg width="100%" height="8"><rect class="${kind}" width="${width}%" height="8" rx="3"></rect></svg></td>`;
}

interface ChartBar {
  name: string;
  value: number;
  /** The part of `value` that is drawn as failed. */
  bad?: number;
  /** The runs that it counts, for a link to them. */
  selection?: string | undefined;
}

/** The size of the drawing in its own units; the page stretches it. */
const HEIGHT = 100;
const SLOT = 10;
const GAP = 2;

/** Renders one bar for each name, as SVG without a script. A tooltip on each bar says what it stands for. */
function renderBarChart(title: string, bars: readonly ChartBar[], show: (value: number) => string): Markup {
  const most = Math.max(0, ...bars.map(({ value }) => value));
  const scale = (value: number) => (most === 0 ? 0 : Number(((HEIGHT * value) / most).toFixed(2)));
  const width = bars.length * SLOT;
  const drawn = bars.map(({ name, value, bad = 0, selection }, index) => {
    const [height, badHeight] = [scale(value), scale(bad)];
    const failed = bad > 0 ? `, ${show(bad)} failed` : "";
    const x = index * SLOT + GAP / 2;
    const bar = html`<g><title>${name}: ${show(value)}${failed}</title><rect class="slot" x="${index * SLOT}" width="${SLOT}" height="${HEIGHT}"></rect><rect class="value" x="${x}" y="${HEIGHT - height}" width="${SLOT - GAP}" height="${height}"></rect>${bad > 0 ? html`<rect class="bad" x="${x}" y="${HEIGHT - badHeight}" width="${SLOT - GAP}" height="${badHeight}"></rect>` : undefined}</g>`;
    return value === 0 ? bar : renderSelection(selection, name, bar);
  });
  const [first, last] = [bars[0]?.name ?? "", bars.at(-1)?.name ?? ""];
  return html`<figure class="plot"><figcaption><span>${title}</span><span class="size">most ${show(most)}</span></figcaption>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}, from ${first} to ${last}, at most ${show(most)}">${drawn}</svg>
<p class="ends"><span>${first}</span><span>${last === first ? "" : last}</span></p></figure>`;
}
