import type { ArchivedRun } from "../../archive/reading/archived-run.ts";
import type { CallRecord } from "../../archive/run-record.ts";
import { oneLine } from "../../base/text/one-line.ts";
import { formatBytes, formatDuration } from "../../host/run-report/quantities.ts";
import { decisionOf, errorOf, shortToolName } from "../../host/run-report/run-overview.ts";
import type { Timeline, TimelineBar } from "../../host/run-report/timeline.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { layOutTable } from "./text-table.ts";

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
export async function renderCallsText(
  run: ArchivedRun,
  timeline: Timeline,
  terminal: Terminal,
): Promise<string> {
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
