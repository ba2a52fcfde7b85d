import type { ArchivedRun } from "../../archive/archived-run.ts";
import type { ArchivedOutcome, CallRecord } from "../../archive/run-record.ts";
import { formatBytes, formatCount, formatDuration } from "../../base/quantities.ts";
import { decisionOf, shortToolName } from "../reports/run-overview.ts";
import { showJson, showText } from "../reports/shown-text.ts";
import { html, type Markup } from "./markup.ts";
import { renderSection, renderText } from "./page-parts.ts";

/** The most characters of all values on a page, which browsers still show without delay. */
const PAGE_CHARS = 6_000_000;
const MAX_VALUE_CHARS = 100_000;
const PREVIEW_CHARS = 140;
const MAX_WARNING_CHARS = 512;

/** Renders a line for each call, which unfolds to its arguments and outcome. @throws ArchiveError */
export async function renderCalls(
  run: ArchivedRun,
  calls: readonly CallRecord[],
  colours: ReadonlyMap<string, string>,
): Promise<Markup> {
  const maxChars = Math.min(MAX_VALUE_CHARS, Math.floor(PAGE_CHARS / (2 * Math.max(1, calls.length))));
  const failed = calls.filter(({ ok }) => !ok).length;
  const hidden = run.record.calls.length - calls.length;
  const rendered: Markup[] = [];
  // One after the other, because all values of a run together may be larger than memory.
  for (const [index, call] of calls.entries()) {
    rendered.push(await renderCall(run, call, index, colours.get(call.tool) ?? "", maxChars));
  }
  return renderSection(
    "calls",
    html`Calls <span class="count">${formatCount(run.record.calls.length)}</span>`,
    html`${hidden > 0 ? html`<p class="cut">The first ${formatCount(calls.length)} of them; ${formatCount(hidden)} more are in the archive.</p>` : undefined}
<div class="calls">${rendered}</div>
<p class="nothing" hidden>No call matches.</p>`,
    html`${failed > 0 ? html`<label class="toggle"><input type="checkbox" id="failed-only"><span>Failed only (${formatCount(failed)})</span></label>` : undefined}<button type="button" class="scripted" id="unfold">Unfold all</button>`,
  );
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
<summary><span class="seq">${index + 1}</span><span class="tool">${shortToolName(call.tool)} ${renderMarks(call)}<span class="preview">${previewOf(args, outcome)}</span></span><span class="track" aria-hidden="true"><i class="bar-part"></i></span><span class="took">${formatDuration(call.duration_ms)}</span><span class="bytes">${formatBytes(call.result_bytes)}</span></summary>
<div class="body">
${renderFacts(call)}
${renderText("Arguments", showJson(args, maxChars))}
${renderOutcome(outcome, maxChars)}
</div>
</details>`;
}

function renderMarks({ ok, decision }: CallRecord): Markup | undefined {
  const said = decision === "allowed" ? "" : decision.replaceAll("-", " ");
  if (!ok) return html`<em class="mark bad">${said === "" ? "failed" : said}</em>`;
  return said === "" ? undefined : html`<em class="mark">${said}</em>`;
}

/** What distinguishes a call from others of the same tool: its error, or its arguments. */
function previewOf(args: unknown, outcome: ArchivedOutcome): string {
  return outcome.ok
    ? showText(JSON.stringify(args), PREVIEW_CHARS).text
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
