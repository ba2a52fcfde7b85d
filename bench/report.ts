/** One comparison: a measured time, a baseline, and the largest allowed ratio. */
export interface Comparison {
  name: string;
  measuredMs: readonly number[];
  against: string;
  baselineMs: readonly number[];
  /** Largest ratio that is still good. */
  maxRatio: number;
  /** Which percentiles are compared, from 0 to 1; the medians by default. */
  at?: number;
}

/** Prints a comparison and returns whether it holds. Ratios, not times: machines differ, and this one may be busy. */
export function report({ name, measuredMs, against, baselineMs, maxRatio, at = 0.5 }: Comparison): boolean {
  const ratio = percentile(measuredMs, at) / percentile(baselineMs, at);
  const holds = ratio <= maxRatio;
  console.log(
    `${name}: ${ratio.toFixed(2)} times ${against} (at most ${maxRatio}) ${holds ? "ok" : "TOO SLOW"}`,
  );
  console.log(`    measured p50/p95 ${show(measuredMs)} ms, n = ${measuredMs.length}`);
  console.log(`    baseline p50/p95 ${show(baselineMs)} ms, n = ${baselineMs.length}`);
  return holds;
}

function show(values: readonly number[]): string {
  return [0.5, 0.95].map((p) => percentile(values, p).toPrecision(3)).join("/");
}

function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}
