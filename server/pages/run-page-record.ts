import type { ArchivedRun } from "../../archive/reading/archived-run.ts";
import { formatCount } from "../../host/run-report/quantities.ts";
import { showJson } from "../../host/run-report/shown-text.ts";
import { html, type Markup } from "./markup.ts";
import { renderSection, renderText, renderTime } from "./page-parts.ts";

const MAX_ENVELOPE_CHARS = 100_000;
const MAX_ENTRIES = 200;

/** Renders what is needed to find, check and repeat a run: digests, versions, servers and options. */
export function renderRecord(run: ArchivedRun): Markup {
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
