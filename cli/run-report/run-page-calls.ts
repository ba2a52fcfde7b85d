import type { ArchivedRun } from "../../archive/read-run.ts";
import type { ArchivedOutcome, CallRecord } from "../../archive/run-record.ts";
import { html, type Markup } from "./markup.ts";
import { renderSection, renderText } from "./page-parts.ts";
import { formatBytes, formatCount, formatDuration } from "./quantities.ts";
import { decisionOf, shortToolName } from "./run-overview.ts";
import { showJson, showText } from "./shown-text.ts";

/** A browser takes this much text in its stride; it is shared by all values of all calls. */
const PAGE_CHARS = 6_000_000;
const MAX_VALUE_CHARS = 100_000;
const PREVIEW_CHARS = 140;

/** A line for each call, which unfolds to what was asked and answered. */
export function renderCalls(
  run: ArchivedRun,
  calls: readonly CallRecord[],
  colours: ReadonlyMap<string, string>,
): Markup {
  const maxChars = Math.min(MAX_VALUE_CHARS, Math.floor(PAGE_CHARS / (2 * Math.max(1, calls.length))));
  const failed = calls.filter(({ ok }) => !ok).length;
  const hidden = run.record.calls.length - calls.length;
  return renderSection(
    "calls",
    html`Calls <span class="count">${formatCount(run.record.calls.length)}</span>`,
    html`${hidden > 0 ? html`<p class="cut">The first ${formatCount(calls.length)} of them; ${formatCount(hidden)} more are in the archive.</p>` : undefined}
<div class="calls">${calls.map((call, index) => renderCall(run, call, index, colours.get(call.tool) ?? "", maxChars))}</div>
<p class="nothing" hidden>No call matches.</p>`,
    html`${failed > 0 ? html`<label class="toggle"><input type="checkbox" id="failed-only"><span>Failed only (${formatCount(failed)})</span></label>` : undefined}<button type="button" class="scripted" id="unfold">Unfold all</button>`,
  );
}

function renderCall(
  run: ArchivedRun,
  call: CallRecord,
  index: number,
  colour: string,
  maxChars: number,
): Markup {
  const args = run.argumentsOf(call);
  const outcome = run.outcomeOf(call);
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

/** What tells a call from others like it. */
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
