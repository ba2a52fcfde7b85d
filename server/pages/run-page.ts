import type { ArchivedRun } from "../../archive/archived-run.ts";
import type { ArchivedOutcome, CallRecord } from "../../archive/run-record.ts";
import { writeJson } from "../../base/json.ts";
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatInstantWithZone,
  formatTokens,
} from "../../base/quantities.ts";
import { wholeValueOf } from "../../execution/output/archived-output.ts";
import type { CodeSyntax } from "../../languages/language.ts";
import { syntaxOf } from "../../languages/languages.ts";
import { describePrincipal } from "../../protocol/run-context.ts";
import {
  decisionOf,
  emittedLine,
  overviewOf,
  type RunOverview,
  shortToolName,
  showJson,
  showText,
  type Timeline,
} from "../reports/run-overview.ts";
import { describeRecordedValues, flowsIn } from "../reports/value-flows.ts";
import {
  html,
  type Markup,
  type PageAssets,
  type PageParts,
  renderPage,
  renderSection,
  renderText,
  renderTile,
  renderTiles,
  renderTime,
} from "./page.ts";

const MAX_CALLS = 2_000;
const MAX_VALUE_CHARS = 200_000;

/**
 * Renders one run as a self-contained page, which can be sent to others and opened from disk.
 *
 * @throws ArchiveError when the run was changed since it was read.
 */
export async function renderRunPage(run: ArchivedRun, assets: PageAssets): Promise<string> {
  return renderPage(await runParts(run), assets);
}

/** The parts of a page about one run, for a document that holds more. @throws ArchiveError as `renderRunPage` does. */
export async function runParts(run: ArchivedRun): Promise<Required<PageParts>> {
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
${renderFlows(calls)}
${called ? await renderCalls(run, calls, colours) : undefined}
${renderProgram(overview, record)}
${renderConsole(run)}
${renderEmitted(run)}
${renderSection("values", "Values", html`<div class="pair">${renderText("Data given", showJson(data, MAX_VALUE_CHARS))}${result.ok ? renderText("Result", showJson(wholeValueOf(run), MAX_VALUE_CHARS)) : undefined}</div>`)}
${renderRecord(run)}
${renderHelp()}`;
  return {
    title: `${overview.status} · ${record.file_name} · ${formatInstantWithZone(record.started_at)}`,
    rules: renderCodeRule(overview.lines.length) + (called ? renderBarRules(calls, overview.timeline) : ""),
    header: renderHeader(run, overview),
    main,
    footer: html`Made by ptc ${record.versions.ptc} from its archive. Everything on this page was checked against its digests when it was made.`,
  };
}

function renderHeader({ record }: ArchivedRun, { status, title }: RunOverview): Markup {
  return html`<p class="kind">ptc run</p>
<h1><span class="status ${status === "ok" ? "good" : "bad"}">${status}</span> <span class="name">${record.file_name}</span></h1>
<p class="lead">${title}</p>
<p class="where"><code>${record.run_id}</code><span>${renderTime(record.started_at)}</span><span>by ${describePrincipal({ principal: record.principal, name: record.principal_name })} through ptc ${record.source}</span>${renderWho(record)}</p>`;
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

const MAX_ENVELOPE_CHARS = 100_000;
const MAX_ENTRIES = 200;

/** Renders what is needed to find, check and repeat a run: digests, versions, servers and options. */
function renderRecord(run: ArchivedRun): Markup {
  const { record, envelope } = run;
  const { ptc, node, protocol, runtime } = record.versions;
  const facts: [string, string | Markup | undefined][] = [
    ["Input digest", code(record.input_digest)],
    ["Output digest", code(envelope.output_digest)],
    ["Record digest", code(run.recordDigest)],
    ["Bundle digest", record.bundle_digest === null ? "never bundled" : code(record.bundle_digest)],
    ["Sandbox image", record.sandbox_image === null ? "no sandbox was used" : code(record.sandbox_image)],
    ["Trace", code(record.trace_id)],
    ["Versions", `ptc ${ptc}, Node ${node}, protocol ${protocol}`],
    ["Ran in", runtime],
    ["Language", record.language],
    ["Approvals", envelope.approval_state.toLowerCase().replaceAll("_", " ")],
    ["Secrets replaced", formatCount(record.redactions)],
    [
      "Imported",
      run.importedAt === null
        ? undefined
        : html`${renderTime(run.importedAt)} from ${run.origin ?? "a file"}`,
    ],
    ["Servers", list(record.servers.map(({ server, name, version }) => html`${server}: ${name} ${version}`))],
    ["Modules", list(record.modules.map(({ module, digest }) => html`${module} ${code(digest)}`))],
    ["Files", list((record.files ?? []).map(({ name, digest }) => html`${name} ${code(digest)}`))],
    ["Tool definitions", list(record.tools.map(({ tool, digest }) => html`${tool} ${code(digest)}`))],
  ];
  const rows = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [html`<dt>${name}</dt><dd>${value}</dd>`],
  );
  return renderSection(
    "record",
    "Record",
    html`<dl class="facts-list">${rows}</dl>
<details class="fold"><summary>Envelope</summary>${renderText("Envelope", showJson(envelope, MAX_ENVELOPE_CHARS))}</details>
<details class="fold"><summary>Options</summary>${renderText("Options", showJson(record.options, MAX_ENVELOPE_CHARS))}</details>`,
  );
}

function code(text: string): Markup {
  return html`<code>${text}</code>`;
}

function list(entries: readonly Markup[]): Markup | undefined {
  if (entries.length === 0) return undefined;
  const more = entries.length - MAX_ENTRIES;
  const items = entries.slice(0, MAX_ENTRIES).map((entry) => html`<li>${entry}</li>`);
  return html`<ul>${items}${more > 0 ? html`<li>and ${formatCount(more)} more</li>` : undefined}</ul>`;
}

const MAX_LINES = 5_000;
const MAX_LINE_CHARS = 2_000;

/** Renders the program, with the lines marked that its error names. */
function renderProgram(
  { lines, failingPlaces }: RunOverview,
  { file_name, language }: Pick<ArchivedRun["record"], "file_name" | "language">,
): Markup {
  const roles = new Map(failingPlaces.map(({ line, role }) => [line, role]));
  const rendered = renderLines(lines.slice(0, MAX_LINES), language, roles);
  const hidden = lines.length - MAX_LINES;
  return renderSection(
    "program",
    "Program",
    html`<pre class="code" tabindex="0" aria-label="Program">${rendered}</pre>${hidden > 0 ? html`<p class="cut">${formatCount(hidden)} more lines are in the archive.</p>` : undefined}`,
    html`<span class="aside">${file_name} · ${formatCount(lines.length)} ${lines.length === 1 ? "line" : "lines"}</span>`,
  );
}

/** How high a program is before it was drawn. */
function renderCodeRule(lines: number): string {
  return `\n.code{contain-intrinsic-height:auto ${Math.min(640, 20 + 21 * lines)}px}`;
}

/** Of the ids of lines of the one program of a page. */
const OWN_PREFIX = "L";

/** Why a line of a program is marked, and how screen readers announce the mark. */
const ROLES = { failed: "failed here: ", caller: "called from here: ", asks: "makes the call: " } as const;
export type LineRole = keyof typeof ROLES;

/**
 * Renders lines of a program, coloured and with their numbers.
 *
 * @param roles by line, from 1.
 * @param prefix of the ids of the lines, where several programs are on one page.
 */
export function renderLines(
  lines: readonly string[],
  language: string,
  roles: ReadonlyMap<number, LineRole>,
  prefix = OWN_PREFIX,
): Markup[] {
  return tokenizeLines(lines.map(cutLine).join("\n"), syntaxOf(language)).map((tokens, index) =>
    renderLine(index + 1, tokens, roles.get(index + 1), prefix),
  );
}

function renderLine(
  number: number,
  tokens: readonly CodeToken[],
  role: LineRole | undefined,
  prefix: string,
): Markup {
  const content = tokens.map(({ kind, text }) =>
    kind === "plain" ? html`${text}` : html`<span class="${kind}">${text}</span>`,
  );
  // Screen readers do not announce the colour of a line.
  const said = role === undefined ? undefined : html`<span class="unseen">${ROLES[role]}</span>`;
  // An excerpt cannot count its lines from 1.
  const numbered = prefix === OWN_PREFIX ? undefined : html` data-line="${number}"`;
  return html`<span class="line${role === undefined ? "" : ` ${role}`}" id="${prefix}${number}"${numbered}>${said}${content}
</span>`;
}

function cutLine(line: string): string {
  return line.length <= MAX_LINE_CHARS
    ? line
    : `${line.slice(0, MAX_LINE_CHARS)} ... (${formatCount(line.length)} characters)`;
}

interface CodeToken {
  kind: "plain" | "comment" | "string" | "number" | "keyword";
  text: string;
}

/** Splits a program into lines of tokens to colour. Only for display. */
export function tokenizeLines(code: string, { comment, string, keywords }: CodeSyntax): CodeToken[][] {
  const token = new RegExp(
    [
      `(?<comment>${comment})`,
      `(?<string>${string})`,
      String.raw`(?<number>\b\d[\w.]*)`,
      String.raw`(?<keyword>\b(?:${keywords.replaceAll(" ", "|")})\b)`,
    ].join("|"),
    "g",
  );
  const lines: CodeToken[][] = [[]];
  const add = (kind: CodeToken["kind"], text: string) => {
    text.split("\n").forEach((part, index) => {
      if (index > 0) lines.push([]);
      if (part !== "") lines.at(-1)?.push({ kind, text: part });
    });
  };
  let end = 0;
  for (const match of code.matchAll(token)) {
    add("plain", code.slice(end, match.index));
    const [kind = "plain"] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? [];
    add(kind as CodeToken["kind"], match[0]);
    end = match.index + match[0].length;
  }
  add("plain", code.slice(end));
  return lines;
}

/** Tools that have a colour of their own; the rest share one. */
const COLOURS = 8;

/** Assigns a colour class to each tool; the most called tools get colours of their own. */
function assignColours(calls: readonly CallRecord[]): Map<string, string> {
  const counts = new Map<string, number>();
  for (const { tool } of calls) counts.set(tool, (counts.get(tool) ?? 0) + 1);
  const tools = [...counts].sort(([, a], [, b]) => b - a).map(([tool]) => tool);
  return new Map(tools.map((tool, index) => [tool, index < COLOURS ? `t${index}` : "t-other"]));
}

/**
 * The places of the bars as CSS rules, because the page's policy allows no style attributes. Rules contain only numbers.
 */
function renderBarRules(calls: readonly CallRecord[], { bars, lanes }: Timeline): string {
  const rules = calls.map((_, index) => {
    const { start, length, lane } = bars[index] ?? { start: 0, length: 0, lane: 0 };
    return `.c${index}{--x:${percent(start)};--w:${percent(length)};--lane:${lane}}`;
  });
  return [`\n.lanes{--lanes:${Math.max(1, lanes)}}`, ...rules].join("\n");
}

const BARS_AT_ONCE = 200;

/** Renders every call as a bar in its lane, linked to the call. The script adds zooming, and the way from bar to bar by keyboard. */
function renderTimeline(
  calls: readonly CallRecord[],
  timeline: Timeline,
  colours: ReadonlyMap<string, string>,
): Markup {
  const bars = calls.map((call, index) => {
    const failed = call.ok ? "" : " failed";
    return html`<a class="bar c${index} ${colours.get(call.tool)}${failed}" href="#call-${index + 1}" tabindex="-1" title="${describeCall(call, index)}"></a>`;
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
<div class="bars">${renderBatches(bars, BARS_AT_ONCE)}</div>
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

/** The most characters of all values on a page, which browsers still show without delay. */
const PAGE_CHARS = 6_000_000;
const MAX_CALL_VALUE_CHARS = 100_000;
const PREVIEW_CHARS = 140;
/** Of calls in one batch of the list. */
const CALLS_AT_ONCE = 25;
const MAX_WARNING_CHARS = 512;

/**
 * Renders a line for each call, which unfolds to its arguments and outcome. Of many calls, a browser draws the batches in sight.
 *
 * @throws ArchiveError
 */
async function renderCalls(
  run: ArchivedRun,
  calls: readonly CallRecord[],
  colours: ReadonlyMap<string, string>,
): Promise<Markup> {
  const maxChars = Math.min(MAX_CALL_VALUE_CHARS, Math.floor(PAGE_CHARS / (2 * Math.max(1, calls.length))));
  const failed = calls.filter(({ ok }) => !ok).length;
  const hidden = run.record.calls.length - calls.length;
  const rendered: Markup[] = [];
  // One after the other, because all values of a run together may be larger than memory.
  for (const [index, call] of calls.entries()) {
    rendered.push(await renderCall(run, call, index, colours.get(call.tool) ?? "", maxChars));
  }
  const batches = renderBatches(rendered, CALLS_AT_ONCE).map(
    (batch, at) => html`<div class="batch${at === 0 ? "" : " later"}">${batch}</div>`,
  );
  return renderSection(
    "calls",
    html`Calls <span class="count">${formatCount(run.record.calls.length)}</span>`,
    html`${hidden > 0 ? html`<p class="cut">The first ${formatCount(calls.length)} of them; ${formatCount(hidden)} more are in the archive.</p>` : undefined}
<div class="calls">${batches}</div>
<p class="nothing" hidden>No call matches.</p>`,
    html`${failed > 0 ? html`<label class="toggle"><input type="checkbox" id="failed-only"><span>Failed only (${formatCount(failed)})</span></label>` : undefined}<button type="button" class="scripted" id="unfold">Unfold all</button>`,
  );
}

/**
 * Splits what a page has many of. Batches after the first are in `<noscript>`: readers without a script have them at once, and where there
 * is one, `calls.js` puts them in piece by piece, so that a page of a thousand calls opens as one of a few does.
 */
function renderBatches(rendered: readonly Markup[], size: number): Markup[] {
  return Array.from({ length: Math.ceil(rendered.length / size) }, (_, at) => {
    const batch = rendered.slice(at * size, (at + 1) * size);
    return at === 0 ? html`${batch}` : html`<noscript>${batch}</noscript>`;
  });
}

async function renderCall(
  run: ArchivedRun,
  call: CallRecord,
  index: number,
  colour: string,
  maxChars: number,
): Promise<Markup> {
  const args = await run.argumentsOf(call);
  const outcome = await run.outcomeOf(call);
  return html`
<details class="call c${index} ${colour}${call.ok ? "" : " failed"}" id="call-${index + 1}">
<summary><span class="seq">${index + 1}</span><span class="tool">${shortToolName(call.tool)} ${renderMarks(call)}<span class="preview">${previewOf(args, outcome)}</span></span><i class="track"></i><span class="took">${formatDuration(call.duration_ms)}</span><span class="bytes">${formatBytes(call.result_bytes)}</span></summary>
<div class="body">
${renderFacts(call)}
${renderValues(call)}
${renderText("Arguments", showJson(args, maxChars))}
${renderOutcome(outcome, maxChars)}
</div>
</details>`;
}

const MAX_FLOWS = 500;

/** Draws the flow from reads to calls: a line from each source to each call, with the arguments that received the data. */
function renderFlows(calls: readonly CallRecord[]): Markup | undefined {
  const known = new Set(calls.map(({ seq }) => seq));
  const flows = flowsIn(calls).filter(({ from }) => from === undefined || known.has(from));
  if (flows.length === 0) return undefined;
  const nameOf = (seq: number) => {
    const call = calls.find((each) => each.seq === seq);
    return html`<a href="#call-${calls.findIndex((each) => each.seq === seq) + 1}">${seq + 1} ${shortToolName(call?.tool ?? "")}</a>`;
  };
  const items = flows.slice(0, MAX_FLOWS).map(({ from, place, to, paths, labels }) => {
    const carried = labels.length === 0 ? undefined : html` <em class="mark">${labels.join(", ")}</em>`;
    return html`<li>${from === undefined ? place : nameOf(from)} → ${nameOf(to)}: ${paths.join(", ")}${carried}</li>`;
  });
  const more = flows.length - items.length;
  return renderSection(
    "flow",
    "Flow",
    html`<ul class="flows">${items}${more > 0 ? html`<li>and ${formatCount(more)} more</li>` : undefined}</ul>`,
    html`<span class="aside">where values of calls came from</span>`,
  );
}

/** Where the values of a call came from. */
function renderValues({ values }: CallRecord): Markup | undefined {
  const lines = describeRecordedValues(values);
  if (lines.length === 0) return undefined;
  return html`<ul class="values">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function renderMarks({ ok, decision }: CallRecord): Markup | undefined {
  const said = decision === "allowed" ? "" : decision.replaceAll("-", " ");
  if (!ok) return html`<em class="mark bad">${said === "" ? "failed" : said}</em>`;
  return said === "" ? undefined : html`<em class="mark">${said}</em>`;
}

/** What distinguishes a call from others of the same tool: its error, or its arguments. */
function previewOf(args: unknown, outcome: ArchivedOutcome): string {
  return outcome.ok
    ? showText(writeJson(args), PREVIEW_CHARS).text
    : showText(outcome.error.message, PREVIEW_CHARS).text;
}

function renderFacts(call: CallRecord): Markup {
  const facts = [
    call.tool,
    `started at ${formatDuration(call.started_ms)}`,
    `ended at ${formatDuration(call.started_ms + call.duration_ms)}`,
    decisionOf(call),
    call.warning === undefined ? "" : `warning: ${showText(call.warning, MAX_WARNING_CHARS).text}`,
    call.redactions > 0 ? `${formatCount(call.redactions)} secrets replaced` : "",
  ].filter((fact) => fact !== "");
  return html`<p class="facts">${facts.map((fact) => html`<span>${fact}</span>`)}</p>`;
}

function renderOutcome(outcome: ArchivedOutcome, maxChars: number): Markup {
  if (outcome.ok) return renderText("Result", showJson(outcome.data, maxChars));
  const { type, message, retryable } = outcome.error;
  const label = retryable ? `${type}, may be tried again` : type;
  return renderText(label, { text: message, bytes: Buffer.byteLength(message), cut: "" }, "bad");
}
