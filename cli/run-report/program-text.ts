import { printable, type Terminal } from "../terminal.ts";
import type { RunOverview } from "./run-overview.ts";

const MAX_LINES = 400;
/** Lines shown around a failing one in a program that is longer. */
const CONTEXT_LINES = 10;
const MAX_LINE_CHARS = 500;

/** A program with line numbers. The failing line has an arrow and a caret, the lines that had called it a bar. */
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

/** All lines, or the first and those around failing ones. From 1. */
function selectLines(total: number, failing: readonly number[]): number[] {
  return Array.from({ length: total }, (_, index) => index + 1).filter(
    (number) => number <= MAX_LINES || failing.some((line) => Math.abs(line - number) <= CONTEXT_LINES),
  );
}

function showLine(line: string): string {
  return printable(line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS)} ...`);
}
