import type { CallRecord } from "../../archive/run-record.ts";
import { formatBytes, formatCount, formatDuration } from "../../host/run-report/quantities.ts";
import { decisionOf, shortToolName } from "../../host/run-report/run-overview.ts";
import type { Timeline } from "../../host/run-report/timeline.ts";
import { html, type Markup } from "./markup.ts";
import { renderSection } from "./page-parts.ts";

/** Tools that have a colour of their own; the rest share one. */
const COLOURS = 8;

/** Assigns a colour class to each tool; the most called tools get colours of their own. */
export function assignColours(calls: readonly CallRecord[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const tools = [...counts].sort(([, a], [, b]) => b - a).map(([tool]) => tool);
  return new Map(tools.map((tool, index) => [tool, index < COLOURS ? `t${index}` : "t-other"]));
}

/**
 * The places of the bars as CSS rules, because the page's policy allows no style attributes. Rules contain only numbers.
 */
export function renderBarRules(calls: readonly CallRecord[], { bars, lanes }: Timeline): string {
  const rules = calls.map((_, index) => {
    const { start, length, lane } = bars[index] ?? { start: 0, length: 0, lane: 0 };
    return `.c${index}{--x:${percent(start)};--w:${percent(length)};--lane:${lane}}`;
  });
  return [`\n.lanes{--lanes:${Math.max(1, lanes)}}`, ...rules].join("\n");
}

/** Renders every call as a bar in its lane, linked to the call. The script adds zooming. */
export function renderTimeline(
  calls: readonly CallRecord[],
  timeline: Timeline,
  colours: ReadonlyMap<string, string>,
): Markup {
  const bars = calls.map((call, index) => {
    const failed = call.ok ? "" : " failed";
    return html`<a class="bar c${index} ${colours.get(call.tool)}${failed}" href="#call-${index + 1}" title="${describeCall(call, index)}"></a>`;
  });
  const parallel =
    timeline.lanes > 1 ? `up to ${formatCount(timeline.lanes)} at the same time` : "one after the other";
  return renderSection(
    "timeline",
    "Timeline",
    html`
<div class="legend" aria-label="Tools">${renderLegend(calls, colours)}</div>
<div class="chart">
<div class="scroll">
<div class="lanes" data-end="${timeline.endMs}" role="group" aria-label="Calls over time, ${parallel}. With a bar in focus: arrow keys go to other calls, Enter opens one, plus and minus zoom.">
<div class="axis" aria-hidden="true"><span class="first">0</span><span class="last">${formatDuration(timeline.endMs)}</span></div>
<div class="bars">${bars}</div>
</div>
</div>
<div class="tip" hidden></div>
</div>`,
    html`<span class="aside">${parallel}</span>
<span class="zoom scripted"><button type="button" data-zoom="out" aria-label="Zoom out" title="Zoom out (-)">−</button><output aria-label="Zoom">1×</output><button type="button" data-zoom="in" aria-label="Zoom in" title="Zoom in (+)">+</button><button type="button" data-zoom="all" title="All of it (0)">Fit</button></span>`,
  );
}

/** The tooltip of a bar, in one line. */
function describeCall(call: CallRecord, index: number): string {
  return [
    `#${index + 1} ${shortToolName(call.tool)}`,
    call.ok ? "ok" : "failed",
    `${formatDuration(call.duration_ms)} from ${formatDuration(call.started_ms)}`,
    formatBytes(call.result_bytes),
    decisionOf(call),
  ]
    .filter((part) => part !== "")
    .join(" · ");
}

function renderLegend(calls: readonly CallRecord[], colours: ReadonlyMap<string, string>): Markup[] {
  return [...colours].map(([tool, colour]) => {
    const count = calls.filter((call) => call.tool === tool).length;
    return html`<button type="button" class="chip ${colour}" data-find="${tool}" title="Show calls of ${tool}"><i class="swatch"></i>${shortToolName(tool)} <b>${formatCount(count)}</b></button>`;
  });
}

function percent(part: number): string {
  return String(Number((100 * part).toFixed(4)));
}
