import { visibleLines } from "../../base/visible-text.ts";
import type { RunOverview } from "../../server/reports/run-overview.ts";
import type { Terminal } from "../terminal/terminal.ts";

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
export function renderCodeFrame({ lines, failingPlaces }: ProgramLines, terminal: Terminal): string {
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
