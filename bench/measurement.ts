/** What measurements share. */
export interface Bench {
  /** An existing folder for whatever a measurement writes; it is removed at the end. */
  folder: string;
  image: string;
  /** Whether everything is to be measured in fewer rounds. */
  isQuick: boolean;
  /** How many rounds to measure, given how many a reliable figure takes. */
  rounds(count: number): number;
  /** Reports that something is not measured, and why. */
  skip(what: string, why: string): void;
}

/** One measurement, which `--only` can choose by its name. */
export interface Measurement {
  name: string;
  /** What it measures, in half a line. */
  about: string;
  /** Measures alternately with its peer, so that other load on the machine affects both. */
  measure(bench: Bench): Promise<Figure[]>;
}

/** One number of this run: a ratio to something measured alongside, or an absolute figure, and its bound. */
export interface Figure {
  name: string;
  value: number;
  /** `times` makes it a ratio, to what `against` names. */
  unit: string;
  against?: string;
  bound?: { atLeast: number } | { atMost: number };
  /** The numbers it was computed from. */
  detail?: string;
}

/** One comparison: measured times, those of a peer, and the largest allowed ratio. */
export interface Comparison {
  name: string;
  measuredMs: readonly number[];
  against: string;
  baselineMs: readonly number[];
  /** The largest acceptable ratio. Without it the ratio is only recorded. */
  maxRatio?: number | undefined;
  /** Which percentiles are compared, from 0 to 1; the medians by default. */
  at?: number;
}

/** The ratio of a comparison. Ratios, not times: machines differ, and this one may be busy. */
export function ratio({ name, measuredMs, against, baselineMs, maxRatio, at = 0.5 }: Comparison): Figure {
  return {
    name,
    value: percentile(measuredMs, at) / percentile(baselineMs, at),
    unit: "times",
    against,
    ...(maxRatio === undefined ? {} : { bound: { atMost: maxRatio } }),
    detail: `${show(measuredMs)} to ${show(baselineMs)} ms`,
  };
}

/** Whether a figure keeps its bound; `undefined` if it has none. */
export function isKept({ value, bound }: Figure): boolean | undefined {
  if (bound === undefined) return undefined;
  return "atLeast" in bound ? value >= bound.atLeast : value <= bound.atMost;
}

/** @param p from 0 to 1. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN;
}

/** Median and 95th percentile of times, and how many there are. */
export function show(values: readonly number[]): string {
  const [p50, p95] = [0.5, 0.95].map((p) => percentile(values, p).toPrecision(3));
  return `${p50}/${p95} (n ${values.length})`;
}
