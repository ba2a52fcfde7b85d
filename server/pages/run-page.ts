import type { ArchivedRun } from "../../archive/reading/archived-run.ts";
import { wholeValueOf } from "../../host/run-report/archived-output.ts";
import { emittedLine } from "../../host/run-report/emitted-line.ts";
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatInstantWithZone,
  formatTokens,
} from "../../host/run-report/quantities.ts";
import { overviewOf, type RunOverview } from "../../host/run-report/run-overview.ts";
import { showJson, showText } from "../../host/run-report/shown-text.ts";
import { html, type Markup } from "./markup.ts";
import { type PageAssets, renderPage } from "./page.ts";
import { renderSection, renderText, renderTile, renderTiles, renderTime } from "./page-parts.ts";
import { renderCalls } from "./run-page-calls.ts";
import { renderProgram } from "./run-page-program.ts";
import { renderRecord } from "./run-page-record.ts";
import { assignColours, renderBarRules, renderTimeline } from "./run-page-timeline.ts";

const MAX_CALLS = 2_000;
const MAX_VALUE_CHARS = 200_000;

/**
 * Renders one run as a self-contained page, which can be sent to others and opened from disk.
 *
 * @throws ArchiveError when the run was changed since it was read.
 */
export async function renderRunPage(run: ArchivedRun, assets: PageAssets): Promise<string> {
  const overview = overviewOf(run);
  const { record, envelope, data } = run;
  const { result } = envelope;
  const calls = record.calls.slice(0, MAX_CALLS);
  const colours = assignColours(calls);
  const called = calls.length > 0;
  const main = html`
${result.ok ? undefined : renderFailure(overview, result.error.retryable)}
${renderOverview(overview, record.calls.length)}
${renderTools(called)}
${called ? renderTimeline(calls, overview.timeline, colours) : undefined}
${called ? await renderCalls(run, calls, colours) : undefined}
${renderProgram(overview, record)}
${renderConsole(run)}
${renderEmitted(run)}
${renderSection("values", "Values", html`<div class="pair">${renderText("Data given", showJson(data, MAX_VALUE_CHARS))}${result.ok ? renderText("Result", showJson(wholeValueOf(run), MAX_VALUE_CHARS)) : undefined}</div>`)}
${renderRecord(run)}
${renderHelp()}`;
  return renderPage(
    {
      title: `${overview.status} · ${record.file_name} · ${formatInstantWithZone(record.started_at)}`,
      rules: called ? renderBarRules(calls, overview.timeline) : "",
      header: renderHeader(run, overview),
      main,
      footer: html`Made by ptc ${record.versions.ptc} from its archive. Everything on this page was checked against its digests when it was made.`,
    },
    assets,
  );
}

function renderHeader({ record }: ArchivedRun, { status, title }: RunOverview): Markup {
  return html`<p class="kind">ptc run</p>
<h1><span class="status ${status === "ok" ? "good" : "bad"}">${status}</span> <span class="name">${record.file_name}</span></h1>
<p class="lead">${title}</p>
<p class="where"><code>${record.run_id}</code><span>${renderTime(record.started_at)}</span><span>by ${record.principal} through ptc ${record.source}</span>${renderWho(record)}</p>`;
}

function renderWho({ actor, client }: ArchivedRun["record"]): Markup {
  const account = actor === undefined ? "" : html`<span>${actor.user}@${actor.host}</span>`;
  const through =
    client === undefined ? "" : html`<span>${[client.name, client.version].join(" ").trim()}</span>`;
  return html`${account}${through}`;
}

function renderConsole({ consoleText, whole, stderrText }: ArchivedRun): Markup | undefined {
  const texts = [
    ["Printed", whole.consoleText ?? consoleText],
    ["Written to stderr", stderrText],
  ] as const;
  const written = texts.filter(([, text]) => text !== "");
  if (written.length === 0) return undefined;
  const parts = written.map(([label, text]) => renderText(label, showText(text, MAX_VALUE_CHARS)));
  return renderSection("console", "Console", html`${parts}`);
}

/** Images that every browser shows, and that hold nothing but pixels. */
const SHOWN_IMAGES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

function renderEmitted({ emitted }: ArchivedRun): Markup | undefined {
  if (emitted.length === 0) return undefined;
  const items = emitted.map((block) => {
    const line = emittedLine(block);
    const isShown = block.type === "image" && SHOWN_IMAGES.has(block.mimeType);
    const image = isShown
      ? html`<br><img src="data:${block.mimeType};base64,${block.data}" alt="${line}">`
      : undefined;
    return html`<li>${line}${image}</li>`;
  });
  return renderSection("emitted", "Emitted", html`<ol>${items}</ol>`);
}

function renderFailure({ status, errorMessage, failingPlaces }: RunOverview, retryable: boolean): Markup {
  const [place] = failingPlaces;
  const link = place === undefined ? undefined : html` <a href="#L${place.line}">line ${place.line}</a>`;
  return html`<div class="failure" role="note" id="failure"><p><strong>${status}</strong>${link}${retryable ? html` <em class="mark">may be tried again</em>` : undefined}</p><pre>${errorMessage}</pre></div>`;
}

function renderOverview(overview: RunOverview, callCount: number): Markup {
  const { durationMs, programMs, failedCalls, timeline, resultBytes, returnedBytes, keptBytes, keptTokens } =
    overview;
  const parallel = timeline.lanes > 1 ? `up to ${formatCount(timeline.lanes)} at once` : "";
  const failed = failedCalls > 0 ? `${formatCount(failedCalls)} failed` : "";
  return renderTiles([
    renderTile("Took", formatDuration(durationMs), `${formatDuration(programMs)} in the program`),
    renderTile("Calls", formatCount(callCount), [failed, parallel].filter((each) => each !== "").join(", ")),
    renderTile("Tools answered", formatBytes(resultBytes), "to the program alone"),
    renderTile("Shown to a model", formatBytes(returnedBytes), "console and result"),
    renderTile(
      "Kept out of context",
      formatBytes(keptBytes),
      `about ${formatTokens(keptTokens)} tokens, estimated`,
    ),
  ]);
}

/** The search field and the links to sections. */
function renderTools(called: boolean): Markup {
  const sections = [...(called ? ["Timeline", "Calls"] : []), "Program", "Values", "Record"];
  return html`<div class="tools">
<nav aria-label="Sections">${sections.map((name) => html`<a href="#${name.toLowerCase()}">${name}</a>`)}</nav>
<search class="search scripted"><label for="find" class="unseen">Search calls, program and console</label><input type="search" id="find" placeholder="Search calls, program, console" autocomplete="off" spellcheck="false" aria-describedby="found" aria-keyshortcuts="/"><kbd aria-hidden="true">/</kbd><output id="found" aria-live="polite"></output><button type="button" popovertarget="help" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)">?</button></search>
</div>`;
}

const SHORTCUTS = [
  ["/", "search"],
  ["Enter, Shift+Enter", "next and previous match, in the search"],
  ["Esc", "clear the search"],
  ["↓ ↑", "next and previous call, on a call or a bar"],
  ["→ ←", "unfold and fold a call; later and earlier, on a bar"],
  ["+ − 0", "zoom the timeline, on a bar"],
  ["?", "this list"],
] as const;

function renderHelp(): Markup {
  const rows = SHORTCUTS.map(([keys, what]) => html`<dt><kbd>${keys}</kbd></dt><dd>${what}</dd>`);
  return html`<div id="help" popover aria-label="Keyboard shortcuts"><h2>Keyboard</h2><dl>${rows}</dl></div>`;
}
