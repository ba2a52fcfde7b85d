import type { Stats } from "../../archive/reading/run-stats.ts";
import { bucketDays, nameBucket } from "../../host/run-report/day-buckets.ts";
import {
  estimateTokens,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
  formatTokens,
} from "../../host/run-report/quantities.ts";
import { shortToolName } from "../../host/run-report/run-overview.ts";
import { renderBarChart } from "./bar-chart.ts";
import { html, type Markup } from "./markup.ts";
import { type PageAssets, renderPage } from "./page.ts";
import { renderSection, renderTile, renderTiles, renderTime } from "./page-parts.ts";

const MAX_BUCKETS = 92;
const MAX_TOOLS = 500;

/** Renders counts over many runs as a self-contained page. */
export function renderStatsPage(stats: Stats, assets: PageAssets, nowMs: number): string {
  const { total, days, failures, tools } = stats;
  const over = nameBucket({ from: days[0]?.day ?? "", to: days.at(-1)?.day ?? "" });
  return renderPage(
    {
      title: `ptc runs · ${over}`,
      header: html`<p class="kind">ptc runs</p><h1>${formatCount(total.runs)} ${total.runs === 1 ? "run" : "runs"}</h1><p class="where"><span>${over}, days in UTC</span></p>`,
      main: html`
${renderTotals(total)}
${renderDays(stats)}
${failures.length === 0 ? undefined : renderFailures(stats)}
${tools.length === 0 ? undefined : renderTools(stats)}`,
      footer: html`Made by ptc from its archive, ${renderTime(nowMs)}. Tokens are an estimate, at 4 bytes each. Replays are not counted: they call nothing.`,
    },
    assets,
  );
}

function renderTotals(total: Stats["total"]): Markup {
  return renderTiles([
    renderTile("Failed", formatCount(total.failed), `${formatShare(total.failed, total.runs)} of the runs`),
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

function renderDays({ days }: Stats): Markup {
  const buckets = bucketDays(days, MAX_BUCKETS);
  const names = buckets.map(nameBucket);
  const charts = [
    renderBarChart(
      "Runs",
      buckets.map(({ runs, failed }, index) => ({ name: names[index] ?? "", value: runs, bad: failed })),
      (value) => formatCount(value),
    ),
    renderBarChart(
      "Calls",
      buckets.map(({ calls }, index) => ({ name: names[index] ?? "", value: calls })),
      formatCount,
    ),
    renderBarChart(
      "Time",
      buckets.map(({ duration_ms }, index) => ({ name: names[index] ?? "", value: duration_ms })),
      formatDuration,
    ),
    renderBarChart(
      "Kept out of context",
      buckets.map(({ kept_bytes }, index) => ({ name: names[index] ?? "", value: kept_bytes })),
      (value) => `${formatBytes(value)}, about ${formatTokens(estimateTokens(value))} tokens`,
    ),
  ];
  const rows = days
    .toReversed()
    .map(
      (day) =>
        html`<tr><th scope="row">${day.day}</th><td>${formatCount(day.runs)}</td><td>${formatCount(day.failed)}</td><td>${formatCount(day.calls)}</td><td>${formatDuration(day.duration_ms)}</td><td>${formatBytes(day.result_bytes)}</td><td>${formatBytes(day.kept_bytes)}</td><td>${formatTokens(estimateTokens(day.kept_bytes))}</td></tr>`,
    );
  return renderSection(
    "days",
    "Per day",
    html`<div class="pair">${charts}</div>
<details class="fold"><summary>As a table</summary><div class="table"><table><thead><tr><th scope="col">Day</th><th scope="col">Runs</th><th scope="col">Failed</th><th scope="col">Calls</th><th scope="col">Time</th><th scope="col">Tools answered</th><th scope="col">Kept out</th><th scope="col">Tokens</th></tr></thead><tbody>${rows}</tbody></table></div></details>`,
  );
}

function renderFailures({ failures, total }: Stats): Markup {
  const most = Math.max(...failures.map(({ runs }) => runs));
  const rows = failures.map(
    ({ type, runs }) =>
      html`<tr><th scope="row">${type}</th><td>${formatCount(runs)}</td><td>${formatShare(runs, total.runs)}</td>${meterCell(runs, most, "bad")}</tr>`,
  );
  return renderSection(
    "failures",
    "Failed runs",
    html`<div class="table"><table><thead><tr><th scope="col">Type</th><th scope="col">Runs</th><th scope="col">Of all</th><td></td></tr></thead><tbody>${rows}</tbody></table></div>`,
  );
}

function renderTools({ tools }: Stats): Markup {
  const most = Math.max(...tools.map(({ result_bytes }) => result_bytes));
  const rows = tools
    .slice(0, MAX_TOOLS)
    .map(
      (tool) =>
        html`<tr><th scope="row">${shortToolName(tool.tool)}</th><td>${formatCount(tool.runs)}</td><td>${formatCount(tool.calls)}</td><td>${tool.failed_calls > 0 ? html`<span class="some">${formatCount(tool.failed_calls)}</span>` : "0"}</td><td>${formatDuration(tool.duration_ms)}</td><td>${formatBytes(tool.result_bytes)}</td><td>${formatTokens(estimateTokens(tool.result_bytes))}</td>${meterCell(tool.result_bytes, most)}</tr>`,
    );
  const more =
    tools.length > MAX_TOOLS
      ? html`<p class="cut">The ${MAX_TOOLS} most called of ${formatCount(tools.length)} tools.</p>`
      : undefined;
  return renderSection(
    "tools",
    "Per tool",
    html`${more}<div class="table"><table><thead><tr><th scope="col">Tool</th><th scope="col">Runs</th><th scope="col">Calls</th><th scope="col">Failed</th><th scope="col">Time</th><th scope="col">Answered</th><th scope="col">Tokens</th><td></td></tr></thead><tbody>${rows}</tbody></table></div>`,
  );
}

/** A table cell with a bar for the value's share of `most`. The number is in a cell beside it. */
function meterCell(value: number, most: number, kind = ""): Markup {
  const width = most === 0 ? 0 : Number(((100 * value) / most).toFixed(2));
  return html`<td class="meter" aria-hidden="true"><svg width="100%" height="8"><rect class="${kind}" width="${width}%" height="8" rx="3"></rect></svg></td>`;
}
