import { stripVTControlCharacters } from "node:util";
import type { ListedRun } from "../../archive/listed-run.ts";
import { formatAge, formatBytes, formatCount, formatDuration } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import { LOCAL_PRINCIPAL } from "../../protocol/run-context.ts";
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
