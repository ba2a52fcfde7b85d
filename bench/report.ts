import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { type Figure, isKept } from "./measurement.ts";

/** Renders figures as a table, ratios first, each with its bound. Pure. */
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

/** Renders ratios next to those of the baseline. Pure. */
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

const BASELINE_PATH = join(import.meta.dirname, "baseline.json");
const USUAL_TOLERANCE = 0.3;

/** The ratios of a good run. It has no absolute figures, which depend on the machine. */
const Baseline = z.strictObject({
  /** The share by which a ratio may be worse. */
  tolerance: z.number(),
  ratios: z.record(z.string(), z.number()),
});
type Baseline = z.infer<typeof Baseline>;

/** A ratio and the corresponding one of the baseline. */
export interface Compared {
  name: string;
  before: number;
  now: number;
  isWorse: boolean;
}

/** Compares the ratios that the baseline has. Larger is worse, unless the bound is a minimum. */
export function compare(figures: readonly Figure[], { tolerance, ratios }: Baseline): Compared[] {
  return figures.filter(isRatio).flatMap(({ name, value: now, bound }) => {
    const before = ratios[name];
    if (before === undefined) return [];
    const isWorse =
      bound !== undefined && "atLeast" in bound
        ? now < before * (1 - tolerance)
        : now > before * (1 + tolerance);
    return [{ name, before, now, isWorse }];
  });
}

export function readBaseline(path = BASELINE_PATH): Baseline {
  if (!existsSync(path)) throw new Error(`${path} does not exist; create it with --record`);
  return Baseline.parse(JSON.parse(readFileSync(path, "utf8")));
}

/** Records the ratios of this run; those that were not measured stay unchanged. */
export function recordBaseline(figures: readonly Figure[], path = BASELINE_PATH): void {
  const { tolerance, ratios } = existsSync(path)
    ? readBaseline(path)
    : { tolerance: USUAL_TOLERANCE, ratios: {} };
  const measured = figures
    .filter(isRatio)
    .map(({ name, value }) => [name, Number(value.toPrecision(3))] as const);
  const sorted = Object.entries({ ...ratios, ...Object.fromEntries(measured) }).toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  writeFileSync(path, `${JSON.stringify({ tolerance, ratios: Object.fromEntries(sorted) }, null, 2)}\n`);
}

function isRatio({ unit, value }: Figure): boolean {
  return unit === "times" && Number.isFinite(value);
}
