/** The page of a run in progress, from the events that this process knows. At the end, the page of the archived run replaces it. */
import { countNoun, formatBytes, formatCount, formatDuration } from "../../base/quantities.ts";
import {
  html,
  type Markup,
  renderSection,
  renderTable,
  renderTile,
  renderTiles,
  renderTime,
} from "../../server/pages/page.ts";
import { renderLines } from "../../server/pages/run-page.ts";
import { layOutCalls, shortToolName, splitLines } from "../../server/reports/run-overview.ts";
import type { LiveCall, LiveRun } from "../live-runs.ts";
import { BASE, type ConsolePage } from "../shell.ts";

/** The most calls in the table, the newest; the timeline has all that are kept. */
const LISTED_CALLS = 100;
const MAX_LINES = 1_000;
/** How many tools have their own colours; the rest share one. */
const COLOURS = 8;

export function renderLiveRun(run: LiveRun, nowMs: number): ConsolePage {
  const { runId, program, ended } = run;
  const name = program?.fileName ?? runId.slice(0, 8);
  const through = run.client ?? `ptc ${run.source}`;
  return {
    title: `Running · ${name}`,
    place: "runs",
    follows: runId,
    header: html`<p class="crumbs"><a href="${BASE}/runs">Runs</a></p><div data-live="live"><h1>${renderState(ended)} <span class="name">${name}</span></h1></div>
<p class="where"><code>${runId}</code><span>${renderTime(run.startedAt)}</span><span>by ${run.owner.principal} through ${through}</span></p>`,
    main: html`<div data-live="live">${renderNow(run, nowMs)}</div>
<div data-live="live">${renderTimeline(run, nowMs)}</div>
<div data-live="live">${renderPrinted(run)}</div>
${renderProgram(program)}
<div data-live="live">${renderCalls(run, nowMs)}</div>`,
    footer: html`Seen while it goes on. What it was given and what its tools answered is shown when the run is archived.`,
  };
}

function renderState(ended: LiveRun["ended"]): Markup {
  if (ended === undefined) return html`<span class="status running">running</span>`;
  return html`<span class="status ${ended.outcome === "ok" ? "good" : "bad"}">${ended.outcome}</span>`;
}

function renderNow({ startedAt, called, calls, asked, ended }: LiveRun, nowMs: number): Markup {
  const failed = calls.filter(({ failure }) => failure !== undefined).length;
  const open = ended === undefined ? calls.filter(({ durationMs }) => durationMs === undefined).length : 0;
  const state =
    ended === undefined
      ? renderTile("Runs for", formatDuration(Math.max(0, nowMs - startedAt)), "so far")
      : renderTile("Took", formatDuration(ended.durationMs), "it is being archived");
  const question =
    asked === undefined
      ? undefined
      : html`<div class="notice"><p><strong>It waits for a person</strong>, who is asked about <code>${shortToolName(asked)}</code>. <a href="${BASE}/inbox">To the inbox</a></p></div>`;
  return html`${question}${renderTiles([
    state,
    renderTile("Calls", formatCount(called), failed === 0 ? "" : `${formatCount(failed)} failed`),
    renderTile("Under way", formatCount(open), "calls that have no answer yet"),
  ])}`;
}

/** The kept calls with their times, from the beginning of the run. One that is under way lasts until now. */
function timed({ calls, startedAt, ended }: LiveRun, nowMs: number) {
  const endMs = ended === undefined ? nowMs - startedAt : ended.durationMs;
  return {
    endMs: Math.max(1, endMs),
    times: calls.map((call) => {
      const started_ms = Math.max(0, call.startedAt - startedAt);
      return { started_ms, duration_ms: call.durationMs ?? Math.max(0, endMs - started_ms) };
    }),
  };
}

const WIDTH = 1_000;
const LANE = 20;
const MIN_BAR = 2;

/**
 * Draws the calls as bars by start and duration. Places are attributes of SVG: the policy of a page allows no rule that came after it.
 */
function renderTimeline(run: LiveRun, nowMs: number): Markup | undefined {
  const { calls } = run;
  if (calls.length === 0) return undefined;
  const { times, endMs } = timed(run, nowMs);
  const timeline = layOutCalls(times, endMs);
  const colours = coloursOf(calls);
  const height = Math.max(2, timeline.lanes) * LANE;
  const bars = calls.map((call, index) => {
    const { start, length, lane } = timeline.bars[index] ?? { start: 0, length: 0, lane: 0 };
    const width = Math.max(MIN_BAR, WIDTH * length);
    const x = Math.min(WIDTH * start, WIDTH - width);
    return html`<rect class="${stateOf(call, run)} ${colours.get(call.tool) ?? "t-other"}" x="${x.toFixed(2)}" y="${lane * LANE + 3}" width="${width.toFixed(2)}" height="${LANE - 7}"><title>${describe(call, times[index])}</title></rect>`;
  });
  const legend = [...colours].slice(0, COLOURS).map(([tool, colour]) => {
    const count = calls.filter((call) => call.tool === tool).length;
    return html`<span class="chip ${colour}"><i class="swatch"></i>${shortToolName(tool)} <b>${formatCount(count)}</b></span>`;
  });
  const hidden = run.called - calls.length;
  return renderSection(
    "timeline",
    "Timeline",
    html`<div class="legend">${legend}</div>
<div class="chart live-chart"><div class="axis" aria-hidden="true"><span>0</span><span class="last">${formatDuration(timeline.endMs)}</span></div>
<div class="live-lanes"><svg viewBox="0 0 ${WIDTH} ${height}" height="${height}" preserveAspectRatio="none" role="img" aria-label="${countNoun(calls.length, "call")} over ${formatDuration(timeline.endMs)}; the table below has them in words">${bars}</svg></div></div>`,
    hidden > 0
      ? html`<span class="aside">the newest ${formatCount(calls.length)} of ${formatCount(run.called)} calls</span>`
      : "",
  );
}

function coloursOf(calls: readonly LiveCall[]): Map<string, string> {
  // By their first call, so that a tool keeps its colour while others come.
  const tools = [...new Set(calls.map(({ tool }) => tool))];
  return new Map(tools.map((tool, index) => [tool, index < COLOURS ? `t${index}` : "t-other"]));
}

function stateOf({ durationMs, failure }: LiveCall, { ended }: LiveRun): string {
  if (failure !== undefined) return "bar-failed";
  return durationMs === undefined && ended === undefined ? "bar-open" : "bar-done";
}

function describe(call: LiveCall, time: { started_ms: number; duration_ms: number } | undefined): string {
  const state = call.durationMs === undefined ? "under way" : (call.failure ?? "ok");
  const { started_ms = 0, duration_ms = 0 } = time ?? {};
  return `#${call.seq} ${shortToolName(call.tool)} · ${state} · ${formatDuration(duration_ms)} from ${formatDuration(started_ms)}`;
}

function renderCalls(run: LiveRun, nowMs: number): Markup | undefined {
  const { times } = timed(run, nowMs);
  const rows = run.calls
    .map((call, index) => ({ call, time: times[index] }))
    .slice(-LISTED_CALLS)
    .reverse()
    .map(({ call, time }) => ({
      cells: [
        formatCount(call.seq),
        html`<code>${shortToolName(call.tool)}</code>`,
        call.durationMs === undefined
          ? html`<span class="going">${run.ended === undefined ? "under way" : "cut off"}</span>`
          : html`<span class="${call.failure === undefined ? "done" : "some"}">${call.failure ?? "ok"}</span>`,
        formatDuration(time?.started_ms ?? 0),
        formatDuration(time?.duration_ms ?? 0),
      ],
    }));
  const older = run.called - rows.length;
  return renderSection(
    "calls",
    html`Calls <span class="count">${formatCount(run.called)}</span>`,
    rows.length === 0
      ? html`<p class="soft">It has called nothing yet.</p>`
      : html`${renderTable(["Call", "Tool", "State", "From", "Took"], rows)}${older > 0 ? html`<p class="cut">${countNoun(older, "older call")} are shown when the run is archived.</p>` : undefined}`,
    html`<span class="aside">the newest first</span>`,
  );
}

function renderPrinted({ printed, printedBefore, ended }: LiveRun): Markup | undefined {
  if (printed === "")
    return ended === undefined
      ? renderSection("console", "Console", html`<p class="soft">It has printed nothing yet.</p>`)
      : undefined;
  const cut =
    printedBefore === 0
      ? undefined
      : html`<span class="aside">the newest ${formatBytes(Buffer.byteLength(printed))}; what came before is in the archive</span>`;
  return renderSection(
    "console",
    "Console",
    html`<pre class="printed" tabindex="0" aria-label="Console text" data-tail="">${printed}</pre>`,
    cut,
  );
}

function renderProgram(program: LiveRun["program"]): Markup | undefined {
  if (program?.code === undefined) return undefined;
  const lines = splitLines(program.code);
  const more = lines.length - MAX_LINES;
  return renderSection(
    "program",
    "Program",
    html`<pre class="code" tabindex="0" aria-label="Program">${renderLines(lines.slice(0, MAX_LINES), program.language, new Map())}</pre>${more > 0 ? html`<p class="cut">${countNoun(more, "more line")}.</p>` : undefined}`,
    html`<span class="aside">${program.fileName} · ${countNoun(lines.length, "line")}</span>`,
  );
}
