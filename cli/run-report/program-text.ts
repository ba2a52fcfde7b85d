import { visibleLines } from "../../base/text/visible-text.ts";
import type { RunOverview } from "../../host/run-report/run-overview.ts";
import type { Terminal } from "../terminal/terminal.ts";

const MAX_LINES = 400;
/** Lines shown before and after a failing line when the program is too long to be shown whole. */
const CONTEXT_LINES = 10;
const MAX_LINE_CHARS = 500;

/** Renders a program with line numbers. Failing lines have an arrow and a caret, lines that called them a bar. */
export function renderProgramText({ lines, failingPlaces }: RunOverview, { style }: Terminal): string {
  const width = String(lines.length).length;
  const places = new Map(failingPlaces.map((place) => [place.line, place]));
  let previous = 0;
  const rendered = selectLines(
    lines.length,
    failingPlaces.map(({ line }) => line),
  ).flatMap((number) => {
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

/** The numbers of the lines to show, from 1: all, or the first ones and those around failing lines. */
function selectLines(total: number, failing: readonly number[]): number[] {
  return Array.from({ length: total }, (_, index) => index + 1).filter(
    (number) => number <= MAX_LINES || failing.some((line) => Math.abs(line - number) <= CONTEXT_LINES),
  );
}

function showLine(line: string): string {
  return visibleLines(line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS)} ...`);
}
