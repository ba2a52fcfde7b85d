import type { ArchivedRun } from "../../archive/archived-run.ts";
import type { CallRecord } from "../../archive/run-record.ts";
import {
  countNoun,
  formatAge,
  formatBytes,
  formatDuration,
  formatInstant,
  formatTokens,
} from "../../base/quantities.ts";
import { oneLine, visibleLines } from "../../base/visible-text.ts";
import { wholeValueOf } from "../../execution/output/archived-output.ts";
import type { EmittedBlock } from "../../protocol/emitted.ts";
import { describePrincipal } from "../../protocol/run-context.ts";
import {
  decisionOf,
  emittedLine,
  errorOf,
  overviewOf,
  type RunOverview,
  type ShownText,
  shortToolName,
  showJson,
  showText,
  type Timeline,
  type TimelineBar,
} from "../../server/reports/run-overview.ts";
import { layOutTable, type Terminal } from "../terminal/terminal.ts";
import { renderProgramText } from "./ended-run.ts";
import { statusStyle } from "./runs-text.ts";

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
      `${formatInstant(record.started_at)}${when}, by ${describePrincipal({ principal: record.principal, name: record.principal_name })} through ptc ${record.source}`,
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

/** The envelope without its data, which has its own section. */
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

const MAX_CALLS = 200;
/** The most failed calls that are shown after the first `MAX_CALLS`. */
const MAX_FAILED = 50;
const MAX_TOOL_CHARS = 40;
const MIN_BAR_CHARS = 16;
const MAX_BAR_CHARS = 60;
const PIPE_COLUMNS = 120;
/** The characters of a line besides tool and bar. */
const OTHER_CHARS = 34;

/**
 * Renders calls as a waterfall: one line each, with a bar for its time, and below it the error or decision if there is one.
 *
 * @throws ArchiveError
 */
async function renderCallsText(run: ArchivedRun, timeline: Timeline, terminal: Terminal): Promise<string> {
  const { calls } = run.record;
  const { style } = terminal;
  const selected = selectCalls(calls);
  const toolChars = Math.min(
    MAX_TOOL_CHARS,
    Math.max(...selected.map(({ tool }) => shortToolName(tool).length)),
  );
  const columns = terminal.columns ?? PIPE_COLUMNS;
  const barChars = Math.max(MIN_BAR_CHARS, Math.min(MAX_BAR_CHARS, columns - toolChars - OTHER_CHARS));
  const table = layOutTable([
    [
      { text: "" },
      { text: "" },
      { text: renderAxis(timeline.endMs, barChars), style: (text) => style("dim", text) },
    ],
    ...selected.map((call) => [
      {
        text: String(calls.indexOf(call) + 1),
        style: (text: string) => style("dim", text),
        align: "right" as const,
      },
      { text: oneLine(shortToolName(call.tool), toolChars) },
      {
        text: renderBar(timeline.bars[calls.indexOf(call)], barChars),
        style: (text: string) => style(colourOf(call), text),
      },
      { text: formatDuration(call.duration_ms), align: "right" as const },
      { text: formatBytes(call.result_bytes), align: "right" as const },
    ]),
  ]);
  const [axis = "", ...lines] = table;
  const rendered: string[] = [];
  for (const [index, call] of selected.entries()) {
    rendered.push(lines[index] ?? "", ...(await renderNotes(run, call, terminal)));
  }
  const hidden = calls.length - selected.length;
  const more =
    hidden === 0
      ? []
      : [
          style(
            "dim",
            `${hidden} more calls, none of them among the first ${MAX_CALLS}; --json and --html have them`,
          ),
        ];
  return [axis, ...rendered, ...more].join("\n");
}

function selectCalls(calls: readonly CallRecord[]): CallRecord[] {
  const failed = calls.slice(MAX_CALLS).filter(({ ok }) => !ok);
  return [...calls.slice(0, MAX_CALLS), ...failed.slice(0, MAX_FAILED)];
}

function renderAxis(endMs: number, chars: number): string {
  const end = formatDuration(endMs);
  return `0${" ".repeat(Math.max(1, chars - end.length - 1))}${end}`;
}

/** Renders a bar in steps of half a character, at least one character long. */
function renderBar(bar: TimelineBar | undefined, chars: number): string {
  const { start, length } = bar ?? { start: 0, length: 0 };
  const from = Math.min(Math.floor(start * 2 * chars), 2 * chars - 1);
  const to = Math.min(Math.max(from + 1, Math.round((start + length) * 2 * chars)), 2 * chars);
  const isDrawn = (half: number) => half >= from && half < to;
  return Array.from({ length: chars }, (_, cell) => {
    const [left, right] = [isDrawn(2 * cell), isDrawn(2 * cell + 1)];
    return left && right ? "━" : left ? "╸" : right ? "╺" : " ";
  }).join("");
}

async function renderNotes(
  run: ArchivedRun,
  call: CallRecord,
  { style, columns }: Terminal,
): Promise<string[]> {
  const room = columns === undefined ? undefined : columns - 6;
  const error = await errorOf(run, call);
  const decision = decisionOf(call);
  return [
    ...(decision === "" ? [] : [style("yellow", oneLine(decision, room))]),
    ...(call.warning === undefined ? [] : [style("yellow", oneLine(`warning: ${call.warning}`, room))]),
    ...(error === undefined ? [] : [style("red", oneLine(`${error.type}: ${error.message}`, room))]),
  ].map((note) => `      ${note}`);
}

function colourOf({ ok, decision }: CallRecord): "red" | "yellow" | "cyan" {
  if (!ok) return "red";
  return decision === "allowed" ? "cyan" : "yellow";
}
