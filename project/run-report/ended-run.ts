import { readJson } from "../../base/json.ts";
import { formatBytes, formatDuration } from "../../base/quantities.ts";
import { oneLine, visibleLines } from "../../base/visible-text.ts";
import type { ObservedCall } from "../../execution/call-log.ts";
import type { ExecutedProgram } from "../../execution/output/executed-run.ts";
import { renderEnvelope } from "../../execution/seal.ts";
import type { Program } from "../../languages/program.ts";
import {
  findFailingPlaces,
  type RunOverview,
  shortToolName,
  showJson,
  showText,
  splitLines,
} from "../../server/reports/run-overview.ts";
import type { Surroundings } from "../surroundings.ts";
import { writeWhole } from "../terminal/output.ts";
import { layOutTable, type Terminal, terminalOf } from "../terminal/terminal.ts";
import { shortRunId, statusStyle } from "./runs-text.ts";

/**
 * Prints a run that has just ended: a report on a terminal, otherwise the envelope on one line. `--json` always prints the envelope.
 * Resolves with whether the report was printed.
 */
export async function reportEndedRun(
  run: Omit<EndedRunFacts, "isConsoleShown" | "config">,
  { json, config }: { json?: boolean | undefined; config?: string | undefined },
  { stdout, stderr, env }: Surroundings,
): Promise<boolean> {
  const isReport = stdout.isTTY === true && json !== true;
  const text = isReport
    ? renderEndedRun({ ...run, isConsoleShown: stderr.isTTY === true, config }, terminalOf(stdout, env))
    : `${renderEnvelope(run.envelope)}\n`;
  await writeWhole(stdout, text);
  return isReport;
}

const MAX_VALUE_CHARS = 10_000;

interface EndedRunFacts extends Pick<ExecutedProgram, "envelope" | "resultFrom" | "wholeResultJson"> {
  program: Program;
  calls: MadeCalls;
  /** The archived run that has more to show, if there is one. */
  archivedAs: string | undefined;
  /** The configuration file that was named on the command line. */
  config: string | undefined;
  /** Whether the program's console was printed on the same terminal, so that it need not be repeated. */
  isConsoleShown: boolean;
}

/**
 * Renders a run that has just ended for a person at a terminal: how it ended, its value or its failure with the lines of the
 * program that failed, its calls, and how to see more. Apart from line feeds and styles of `terminal`, nothing moves the cursor.
 */
function renderEndedRun(run: EndedRunFacts, terminal: Terminal): string {
  const { envelope, calls, archivedAs, config } = run;
  const { style } = terminal;
  const sections = [
    `${renderStatus(run, terminal)}${envelope.result.ok ? renderValue(run, terminal) : renderError(run, terminal)}`,
    calls.render(terminal),
    [
      ...(envelope.approval_state === "NOT_REQUIRED"
        ? []
        : [`approvals: ${envelope.approval_state.toLowerCase()}`]),
      ...(archivedAs === undefined ? [] : [style("dim", `more: ${showCommand(archivedAs, config)}`)]),
    ].join("\n"),
  ];
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

function showCommand(runId: string, config: string | undefined): string {
  const command = `ptc runs show ${shortRunId(runId)}`;
  if (config === undefined) return command;
  // A name that a shell would take apart is left for the reader to quote.
  return /^[\w./@+-]+$/.test(config) ? `${command} --config ${config}` : `${command} --config FILE`;
}

function renderStatus({ envelope, program }: EndedRunFacts, { style }: Terminal): string {
  const { result, duration_ms } = envelope;
  const status = result.ok ? "ok" : result.error.type;
  const mark = style([statusStyle(status), "bold"], `${result.ok ? "✔" : "✖"} ${status}`);
  return `${mark}  ${style("bold", oneLine(program.fileName, 200))}  ${style("dim", formatDuration(duration_ms))}`;
}

function renderValue(
  { envelope, resultFrom, wholeResultJson, isConsoleShown }: EndedRunFacts,
  { style }: Terminal,
): string {
  const { result } = envelope;
  if (!result.ok) return "";
  const isConsole = resultFrom === "console" && typeof result.data === "string";
  if (isConsole && (isConsoleShown || result.data === "")) return "";
  const { text, cut } = isConsole
    ? showText(String(result.data), MAX_VALUE_CHARS)
    : showJson(wholeResultJson === undefined ? result.data : readJson(wholeResultJson), MAX_VALUE_CHARS);
  return `\n${visibleLines(text)}${cut === "" ? "" : `\n${style("dim", `(${cut}; ptc runs show --output prints all of it)`)}`}`;
}

function renderError({ envelope, program }: EndedRunFacts, terminal: Terminal): string {
  const { result } = envelope;
  if (result.ok) return "";
  const message = terminal.style("red", visibleLines(result.error.message));
  const lines = splitLines(program.code);
  const { fileName } = program;
  const failingPlaces = findFailingPlaces(result.error.message, { fileName, lines });
  const frame = renderCodeFrame({ lines, failingPlaces }, terminal);
  return `\n${message}${frame === "" ? "" : `\n\n${frame}`}`;
}

const MAX_TOOLS = 20;
const MAX_TOOL_CHARS = 60;
const INDENT = "  ";

interface ToolCalls {
  calls: number;
  failed: number;
  durationMs: number;
  bytes: number;
  /** The first failure of a call. */
  error: string | undefined;
}

/** Counts the calls of a run by tool while it runs. Values of calls are not held. */
export class MadeCalls {
  readonly #tools = new Map<string, ToolCalls>();
  #count = 0;
  #others = 0;

  note({ tool: name, durationMs, outcome }: ObservedCall): void {
    this.#count++;
    const tool = this.#toolNamed(oneLine(shortToolName(name), MAX_TOOL_CHARS));
    if (tool === undefined) return;
    tool.calls++;
    tool.durationMs += durationMs;
    tool.bytes += outcome.bytes;
    if (outcome.ok) return;
    tool.failed++;
    tool.error ??= oneLine(outcome.error.message, 500);
  }

  /** One line for each tool, with its calls and the first failure among them; empty without calls. */
  render({ style, columns }: Terminal): string {
    if (this.#count === 0) return "";
    const dim = (text: string) => style("dim", text);
    const table = layOutTable(
      [...this.#tools].map(([name, { calls, durationMs, bytes, failed }]) => [
        { text: name, ...(failed > 0 && { style: (text: string) => style("red", text) }) },
        { text: `${calls} ×`, align: "right" as const },
        { text: formatDuration(durationMs), align: "right" as const, style: dim },
        { text: formatBytes(bytes), align: "right" as const, style: dim },
        { text: failed === 0 ? "" : `${failed} failed`, style: (text: string) => style("red", text) },
      ]),
    );
    const lines = [...this.#tools.values()].flatMap(({ error }, index) => [
      `${INDENT}${table[index] ?? ""}`,
      ...(error === undefined
        ? []
        : [`${INDENT}${INDENT}${style("red", oneLine(error, columns === undefined ? 160 : columns - 5))}`]),
    ]);
    if (this.#others > 0) lines.push(dim(`${INDENT}and ${this.#others} calls of other tools`));
    return [style("bold", `Calls: ${this.#count}`), ...lines].join("\n");
  }

  #toolNamed(name: string): ToolCalls | undefined {
    let tool = this.#tools.get(name);
    if (tool === undefined && this.#tools.size < MAX_TOOLS) {
      tool = { calls: 0, failed: 0, durationMs: 0, bytes: 0, error: undefined };
      this.#tools.set(name, tool);
    }
    if (tool === undefined) this.#others++;
    return tool;
  }
}

const MAX_LINES = 400;
/** Lines shown before and after a failing line when the program is too long to be shown whole. */
const CONTEXT_LINES = 10;
/** Lines shown before and after a failing line in a code frame. */
const FRAME_LINES = 2;
/** The most failing places in a code frame. */
const MAX_FRAMES = 5;
const MAX_LINE_CHARS = 500;

type ProgramLines = Pick<RunOverview, "lines" | "failingPlaces">;

/** Renders a program with line numbers. Failing lines have an arrow and a caret, lines that called them a bar. */
export function renderProgramText(program: ProgramLines, terminal: Terminal): string {
  return renderLines(program, selectLines(program, MAX_LINES, CONTEXT_LINES), terminal);
}

/** Renders the lines around the places that failed, like `renderProgramText`; empty when no place is known. */
function renderCodeFrame({ lines, failingPlaces }: ProgramLines, terminal: Terminal): string {
  const known = failingPlaces.filter(({ line }) => line <= lines.length).slice(0, MAX_FRAMES);
  if (known.length === 0) return "";
  const program = { lines, failingPlaces: known };
  const selected = selectLines(program, 0, FRAME_LINES);
  return renderLines({ ...program, lines: lines.slice(0, selected.at(-1)) }, selected, terminal);
}

function renderLines(
  { lines, failingPlaces }: ProgramLines,
  selected: readonly number[],
  { style }: Terminal,
): string {
  const width = String(lines.length).length;
  const places = new Map(failingPlaces.map((place) => [place.line, place]));
  let previous = 0;
  const rendered = selected.flatMap((number) => {
    const gap =
      number > previous + 1
        ? [style("dim", `${" ".repeat(width + 2)} ⋯ ${number - previous - 1} lines`)]
        : [];
    previous = number;
    const place = places.get(number);
    const line = lines[number - 1] ?? "";
    const text = showLine(line);
    const label = String(number).padStart(width);
    if (place === undefined) return [...gap, `  ${style("dim", `${label} │`)} ${text}`];
    if (place.role === "caller") return [...gap, `${style("yellow", `┃ ${label} │`)} ${text}`];
    const caret =
      place.column <= MAX_LINE_CHARS
        ? `${showLine(line.slice(0, place.column - 1)).replaceAll(/[^\t]/g, " ")}^`
        : "";
    return [
      ...gap,
      `${style("red", `▶ ${label} │`)} ${text}`,
      ...(caret === "" ? [] : [`  ${" ".repeat(width)} ${style("red", `│ ${caret}`)}`]),
    ];
  });
  if (previous < lines.length)
    rendered.push(style("dim", `${" ".repeat(width + 2)} ⋯ ${lines.length - previous} lines`));
  return rendered.join("\n");
}

/** The numbers of the lines to show, from 1: the first ones and those around failing lines. */
function selectLines({ lines, failingPlaces }: ProgramLines, first: number, context: number): number[] {
  return Array.from({ length: lines.length }, (_, index) => index + 1).filter(
    (number) => number <= first || failingPlaces.some(({ line }) => Math.abs(line - number) <= context),
  );
}

function showLine(line: string): string {
  return visibleLines(line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS)} ...`);
}
