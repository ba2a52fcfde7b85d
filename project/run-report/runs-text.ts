/** Many runs as text for a terminal or a pipe: a list, and counts. */

import { stripVTControlCharacters } from "node:util";
import type { ListedRun } from "../../archive/listed-run.ts";
import type { Stats } from "../../archive/run-stats.ts";
import {
  estimateTokens,
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatNumberOf,
  formatShare,
  formatTokens,
} from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
import { bucketDays, type DayBucket, nameBucket } from "../../server/reports/day-buckets.ts";
import { shortToolName } from "../../server/reports/run-overview.ts";
import { type Cell, layOutTable, type Terminal } from "../terminal/terminal.ts";

/** Characters of an id that are shown: enough that two runs of one archive hardly ever share them. */
const SHORT_ID_CHARS = 8;
const MIN_TITLE_CHARS = 12;
const MAX_PRINCIPAL_CHARS = 60;

const HEADINGS = ["RUN", "WHEN", "STATUS", "FOR", "FROM", "CALLS", "KEPT OUT", "TIME", "INPUT", "PROGRAM"];
const RIGHT = new Set(["CALLS", "KEPT OUT", "TIME"]);

/** Renders runs as a table with a heading; empty for no runs. On a terminal no line is wider than the terminal. */
export function renderRunList(runs: readonly ListedRun[], terminal: Terminal, nowMs: number): string {
  if (runs.length === 0) return "";
  const dim = (text: string) => terminal.style("dim", text);
  // Where everybody is the same, nobody is named.
  const isOfSeveral = runs.some(({ principal }) => principal !== LOCAL_PRINCIPAL);
  const isShown = (_: unknown, column: number) => isOfSeveral || HEADINGS[column] !== "FOR";
  const all: Cell[] = HEADINGS.map((text) => ({ text, style: dim, ...alignment(text) }));
  const heading = all.filter(isShown);
  const rows = runs.map((run) => cellsOf(run, terminal, nowMs).filter(isShown));
  const fixed = layOutTable([heading, ...rows].map((row) => row.slice(0, -1)));
  const width = Math.max(...fixed.map((line) => plainLength(line)));
  const room =
    terminal.columns === undefined ? undefined : Math.max(MIN_TITLE_CHARS, terminal.columns - width - 2);
  const fitted = rows.map((row) =>
    row.map((cell, column) =>
      column === row.length - 1 ? { ...cell, text: oneLine(cell.text, room) } : cell,
    ),
  );
  return `${layOutTable([heading, ...fitted]).join("\n")}\n`;
}

/** The beginning of a run's id, by which people name it. */
export function shortRunId(runId: string): string {
  return runId.slice(0, SHORT_ID_CHARS);
}

/** The colour for the way in which a run ended. */
export function statusStyle(status: string): "green" | "yellow" | "red" {
  if (status === "ok") return "green";
  return status === "Cancelled" || status === "ApprovalDenied" ? "yellow" : "red";
}

function cellsOf(run: ListedRun, { columns, style }: Terminal, nowMs: number): Cell[] {
  const dim = (text: string) => style("dim", text);
  const kept = Math.max(0, run.result_bytes - run.returned_bytes);
  const calls =
    formatCount(run.calls) + (run.failed_calls > 0 ? ` (${formatCount(run.failed_calls)} ✖)` : "");
  return [
    { text: shortRunId(run.run_id), style: (text) => style("cyan", text) },
    {
      text: columns === undefined ? new Date(run.started_at).toISOString() : formatAge(run.started_at, nowMs),
    },
    { text: oneLine(run.status), style: (text) => style(statusStyle(run.status), text) },
    { text: oneLine(run.principal, MAX_PRINCIPAL_CHARS) },
    { text: run.imported_at === null ? oneLine(run.source) : `${oneLine(run.source)}, imported`, style: dim },
    { text: calls, align: "right" },
    { text: formatBytes(kept), align: "right" },
    { text: formatDuration(run.duration_ms), align: "right" },
    { text: run.input_digest.replace(/^sha256:/, "").slice(0, SHORT_ID_CHARS), style: dim },
    { text: run.title === "" ? run.file_name : run.title },
  ];
}

function alignment(heading: string): { align?: "right" } {
  return RIGHT.has(heading) ? { align: "right" } : {};
}

function plainLength(line: string): number {
  return stripVTControlCharacters(line).length;
}

const PIPE_COLUMNS = 80;
const MAX_SPARK_CHARS = 90;
const BAR_CHARS = 16;
const MAX_TOOLS = 30;
const LEVELS = "▁▂▃▄▅▆▇█";

/** Renders counts over many runs, each with a small plot over the days. */
export function renderStatsText(stats: Stats, terminal: Terminal): string {
  const sections = [renderTotals(stats), renderDays(stats, terminal)];
  if (stats.failures.length > 0) sections.push(renderFailures(stats, terminal));
  if (stats.tools.length > 0) sections.push(renderTools(stats, terminal));
  return `${sections.join("\n\n")}\n`;
}

function renderTotals({ total, days }: Stats): string {
  const over = nameBucket({ from: days[0]?.day ?? "", to: days.at(-1)?.day ?? "" });
  const tokens = formatTokens(estimateTokens(total.kept_bytes));
  return [
    `${formatNumberOf(total.runs, "run")} (${over}, UTC), ${formatCount(total.failed)} failed (${formatShare(total.failed, total.runs)})`,
    `${formatNumberOf(total.calls, "call")}, ${formatDuration(total.duration_ms)} in all`,
    `tools answered ${formatBytes(total.result_bytes)}; ${formatBytes(total.kept_bytes)} of it stayed out of context, about ${tokens} tokens (an estimate: 4 bytes each)`,
  ].join("\n");
}

function renderDays({ days }: Stats, { columns = PIPE_COLUMNS, style }: Terminal): string {
  const buckets = bucketDays(days, Math.min(MAX_SPARK_CHARS, Math.max(10, columns - 40)));
  const plot = (
    name: string,
    measure: (bucket: DayBucket) => number,
    show: (value: number) => string,
  ): Cell[] => {
    const values = buckets.map(measure);
    const most = Math.max(0, ...values);
    const peak = buckets[values.indexOf(most)];
    return [
      { text: name, style: (text) => style("dim", text) },
      { text: sparkline(values, most), style: (text) => style("cyan", text) },
      { text: `most ${show(most)} on ${peak === undefined ? "no day" : nameBucket(peak)}` },
    ];
  };
  return layOutTable([
    plot("runs", ({ runs }) => runs, formatCount),
    plot("failed", ({ failed }) => failed, formatCount),
    plot("calls", ({ calls }) => calls, formatCount),
    plot("time", ({ duration_ms }) => duration_ms, formatDuration),
    plot("kept out", ({ kept_bytes }) => kept_bytes, formatBytes),
  ]).join("\n");
}

function renderFailures({ failures, total }: Stats, { style }: Terminal): string {
  const most = Math.max(...failures.map(({ runs }) => runs));
  const rows = failures.map(({ type, runs }): Cell[] => [
    { text: oneLine(type) },
    { text: formatCount(runs), align: "right" },
    { text: formatShare(runs, total.runs), align: "right" },
    { text: bar(runs, most), style: (text) => style("red", text) },
  ]);
  return [style("bold", "Failed runs"), ...layOutTable(rows)].join("\n");
}

function renderTools({ tools }: Stats, { style }: Terminal): string {
  const most = Math.max(...tools.map(({ result_bytes }) => result_bytes));
  const dim = (text: string) => style("dim", text);
  const heading: Cell[] = ["TOOL", "RUNS", "CALLS", "FAILED", "TIME", "ANSWERED", "TOKENS"].map(
    (text, column) => ({
      text,
      style: dim,
      ...(column > 0 && { align: "right" as const }),
    }),
  );
  const rows = tools.slice(0, MAX_TOOLS).map((tool): Cell[] => [
    { text: oneLine(shortToolName(tool.tool), 48) },
    { text: formatCount(tool.runs), align: "right" },
    { text: formatCount(tool.calls), align: "right" },
    {
      text: formatCount(tool.failed_calls),
      align: "right",
      style: (text) => (tool.failed_calls > 0 ? style("red", text) : text),
    },
    { text: formatDuration(tool.duration_ms), align: "right" },
    { text: formatBytes(tool.result_bytes), align: "right" },
    { text: `~${formatTokens(estimateTokens(tool.result_bytes))}`, align: "right" },
    { text: bar(tool.result_bytes, most), style: (text) => style("cyan", text) },
  ]);
  const more =
    tools.length > MAX_TOOLS ? [dim(`and ${tools.length - MAX_TOOLS} more tools; --json has them`)] : [];
  return [style("bold", "Tools"), ...layOutTable([heading, ...rows]), ...more].join("\n");
}

/** Renders a plot of one character for each value. Zero is a space, because the lowest bar stands for more than zero. */
function sparkline(values: readonly number[], most: number): string {
  return values
    .map((value) => (value <= 0 ? " " : (LEVELS[Math.ceil((value / most) * LEVELS.length) - 1] ?? "")))
    .join("");
}

function bar(value: number, most: number): string {
  return value <= 0 ? "" : "█".repeat(Math.max(1, Math.round((value / most) * BAR_CHARS)));
}
