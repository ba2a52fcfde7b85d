import type { Figure } from "./figure.ts";

/** What measurements share. */
export interface Bench {
  /** An existing folder for whatever a measurement writes; it is removed at the end. */
  folder: string;
  image: string;
  /** Whether everything is to be measured in fewer rounds. */
  isQuick: boolean;
  /** How many rounds to measure, of as many as it takes for a figure that can be trusted. */
  rounds(count: number): number;
  /** Says that something is not measured, and why. */
  skip(what: string, why: string): void;
}

/** One measurement, which `--only` can choose by its name. */
export interface Measurement {
  name: string;
  /** What it measures, in half a line. */
  about: string;
  /** Measures in pairs with its peer, so that whatever else the machine does reaches both. */
  measure(bench: Bench): Promise<Figure[]>;
}
