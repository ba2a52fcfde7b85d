import type { Compared } from "./baseline.ts";
import { type Figure, isKept } from "./figure.ts";

/** Figures as a table, ratios first, each beside its bound. Pure. */
export function renderFigures(figures: readonly Figure[]): string {
  const ratios = figures.filter(({ unit }) => unit === "times");
  const others = figures.filter(({ unit }) => unit !== "times");
  const rows = [...ratios, ...others].map((figure) => [
    verdict(figure),
    figure.name,
    `${round(figure.value)} ${figure.unit}${figure.against === undefined ? "" : ` ${figure.against}`}`,
    bound(figure),
    figure.detail ?? "",
  ]);
  return layOut([["", "figure", "measured", "bound", "from (p50/p95)"], ...rows]);
}

/** Ratios beside those of the baseline. Pure. */
export function renderComparison(compared: readonly Compared[]): string {
  const rows = compared.map(({ name, before, now, isWorse }) => [
    isWorse ? "WORSE" : "ok",
    name,
    round(now),
    round(before),
  ]);
  return layOut([["", "ratio", "now", "baseline"], ...rows]);
}

function verdict(figure: Figure): string {
  const kept = isKept(figure);
  if (kept === undefined) return "";
  return kept ? "ok" : "MISSED";
}

function bound({ bound }: Figure): string {
  if (bound === undefined) return "";
  return "atLeast" in bound ? `at least ${bound.atLeast}` : `at most ${bound.atMost}`;
}

function round(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

function layOut(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return `${rows.map(line).join("\n")}\n`;
}
