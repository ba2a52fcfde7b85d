import { formatDuration } from "../../base/quantities.ts";
import { oneLine, visibleLines } from "../../base/visible-text.ts";
import type { ExecutedProgram } from "../../execution/output/executed-program.ts";
import { renderEnvelope } from "../../execution/seal.ts";
import type { Program } from "../../languages/program.ts";
import { findFailingPlaces } from "../../server/reports/failing-places.ts";
import { splitLines } from "../../server/reports/run-overview.ts";
import { showJson, showText } from "../../server/reports/shown-text.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { type Terminal, terminalOf } from "../terminal/terminal.ts";
import { shortRunId, statusStyle } from "./list-text.ts";
import type { MadeCalls } from "./made-calls.ts";
import { renderCodeFrame } from "./program-text.ts";

/**
 * Prints a run that has just ended: a report on a terminal, else the envelope on one line, which `--json` asks for everywhere.
 * Resolves with whether it was the report.
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
  await write(stdout, text);
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
    : showJson(wholeResultJson === undefined ? result.data : JSON.parse(wholeResultJson), MAX_VALUE_CHARS);
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
