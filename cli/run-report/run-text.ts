import type { ArchivedRun } from "../../archive/reading/archived-run.ts";
import { countNoun } from "../../base/text/count-noun.ts";
import { oneLine } from "../../base/text/one-line.ts";
import { visibleLines } from "../../base/text/visible-text.ts";
import { wholeValueOf } from "../../host/run-report/archived-output.ts";
import { emittedLine } from "../../host/run-report/emitted-line.ts";
import {
  formatAge,
  formatBytes,
  formatDuration,
  formatInstant,
  formatTokens,
} from "../../host/run-report/quantities.ts";
import { overviewOf, type RunOverview } from "../../host/run-report/run-overview.ts";
import { type ShownText, showJson, showText } from "../../host/run-report/shown-text.ts";
import type { EmittedBlock } from "../../protocol/output/emitted.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { renderCallsText } from "./calls-text.ts";
import { statusStyle } from "./list-text.ts";
import { renderProgramText } from "./program-text.ts";
import { layOutTable } from "./text-table.ts";

const MAX_CONSOLE_CHARS = 20_000;
const MAX_VALUE_CHARS = 4_000;

/**
 * Renders one run for a terminal or a pipe. Apart from line feeds and styles of `terminal`, nothing moves the cursor.
 *
 * @param nowMs milliseconds since 1970.
 * @throws ArchiveError when the run was changed since it was read.
 */
export async function renderRunText(run: ArchivedRun, terminal: Terminal, nowMs: number): Promise<string> {
  const overview = overviewOf(run);
  const { result } = run.envelope;
  const printed = run.whole.consoleText ?? run.consoleText;
  const sections = [
    renderHeader(run, overview, terminal, nowMs),
    ...(result.ok
      ? []
      : [section("Error", terminal, terminal.style("red", visibleLines(result.error.message)))]),
    section("Program", terminal, renderProgramText(overview, terminal)),
    ...(run.record.calls.length === 0
      ? []
      : [
          section(
            callsHeading(run, overview),
            terminal,
            await renderCallsText(run, overview.timeline, terminal),
          ),
        ]),
    section("Sizes", terminal, renderSizes(overview)),
    ...(printed === "" ? [] : [shown("Console", showText(printed, MAX_CONSOLE_CHARS), terminal)]),
    ...(run.stderrText === ""
      ? []
      : [shown("Stderr", showText(run.stderrText, MAX_CONSOLE_CHARS), terminal)]),
    ...(run.emitted.length === 0 ? [] : [section("Emitted", terminal, renderEmitted(run.emitted))]),
    shown("Data given", showJson(run.data, MAX_VALUE_CHARS), terminal),
    ...(result.ok ? [shown("Result", showJson(wholeValueOf(run), MAX_VALUE_CHARS), terminal)] : []),
    shown("Envelope", showJson(withoutData(run), MAX_VALUE_CHARS), terminal),
  ];
  return `${sections.join("\n\n")}\n`;
}

function renderHeader(run: ArchivedRun, overview: RunOverview, terminal: Terminal, nowMs: number): string {
  const { record, envelope } = run;
  const { style } = terminal;
  const status = style(
    [statusStyle(overview.status), "bold"],
    overview.status === "ok" ? "✔ ok" : `✖ ${overview.status}`,
  );
  const when = terminal.columns === undefined ? "" : ` (${formatAge(record.started_at, nowMs)})`;
  const { ptc, node, protocol, runtime } = record.versions;
  const facts: [string, string][] = [
    ["run", record.run_id],
    ["input", record.input_digest],
    ["output", envelope.output_digest],
    ["record", run.recordDigest],
    [
      "started",
      `${formatInstant(record.started_at)}${when}, by ${record.principal} through ptc ${record.source}`,
    ],
    ...(record.actor === undefined
      ? []
      : [["account", `${record.actor.user}@${record.actor.host}`] as [string, string]]),
    ...(record.client === undefined
      ? []
      : [["client", [record.client.name, record.client.version].join(" ").trim()] as [string, string]]),
    ...(record.client_session === undefined ? [] : [["session", record.client_session] as [string, string]]),
    [
      "took",
      `${formatDuration(overview.durationMs)}, of which ${formatDuration(overview.programMs)} in the program`,
    ],
    ["image", record.sandbox_image ?? "none"],
    ["versions", `ptc ${ptc}, Node ${node}, protocol ${protocol}`],
    ...(runtime === undefined ? [] : [["ran in", runtime] as [string, string]]),
    ["approvals", envelope.approval_state.toLowerCase().replaceAll("_", " ")],
    ...record.servers.map(({ server, name, version }): [string, string] => [
      "server",
      `${server}: ${name} ${version}`,
    ]),
    ...record.modules.map(({ module, digest }): [string, string] => ["module", `${module} ${digest}`]),
    ...(record.files ?? []).map(({ name, bytes, digest }): [string, string] => [
      "file",
      `${name}, ${countNoun(bytes, "byte")}, ${digest}`,
    ]),
    ...(record.redactions > 0
      ? [["secrets", `${countNoun(record.redactions, "value")} replaced`] as [string, string]]
      : []),
    ...(run.origin === null
      ? []
      : [["from", `${run.origin}, imported ${formatInstant(run.importedAt ?? 0)}`] as [string, string]]),
  ];
  const rows = facts.map(([name, value]) => [
    { text: name, style: (text: string) => style("dim", text) },
    { text: oneLine(value) },
  ]);
  return [`${status}  ${style("bold", oneLine(record.file_name, 200))}`, ...layOutTable(rows)].join("\n");
}

function callsHeading({ record }: ArchivedRun, { failedCalls, timeline }: RunOverview): string {
  const failed = failedCalls > 0 ? `, ${failedCalls} failed` : "";
  const parallel = timeline.lanes > 1 ? `, up to ${timeline.lanes} at the same time` : "";
  return `Calls: ${record.calls.length}${failed}${parallel}`;
}

function renderSizes({ resultBytes, returnedBytes, keptBytes, keptTokens }: RunOverview): string {
  return [
    `tools answered    ${formatBytes(resultBytes)}`,
    `shown to a model  ${formatBytes(returnedBytes)}`,
    `kept out          ${formatBytes(keptBytes)}, about ${formatTokens(keptTokens)} tokens (an estimate: 4 bytes each)`,
  ].join("\n");
}

function renderEmitted(blocks: readonly EmittedBlock[]): string {
  return blocks.map((block) => oneLine(emittedLine(block), MAX_VALUE_CHARS)).join("\n");
}

/** The envelope without its data, which has a section of its own. */
function withoutData({ envelope }: ArchivedRun): object {
  const { result } = envelope;
  return result.ok
    ? { ...envelope, result: { ok: true, data: "see Result", metrics: result.metrics } }
    : envelope;
}

function shown(title: string, { text, cut }: ShownText, terminal: Terminal): string {
  const end = cut === "" ? "" : `\n${terminal.style("dim", `(${cut}; --json has all of it)`)}`;
  return section(title, terminal, visibleLines(text.replaceAll("\r\n", "\n")).trimEnd() + end);
}

function section(title: string, { style }: Terminal, text: string): string {
  return `${style(["bold", "underline"], title)}\n${text}`;
}
