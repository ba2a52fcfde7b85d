import type { Envelope } from "../protocol/envelope.ts";
import type { CallFacts, RunFacts } from "./run-record.ts";

/**
 * What is handed over to be archived. Secrets have been replaced before. Values come as JSON text: it crosses to the
 * writing thread at the price of a copy, and whoever sent the value on has its text at hand.
 */
export interface HandedCall {
  facts: CallFacts;
  argumentsJson: string;
  /** An `ArchivedOutcome`. */
  outcomeJson: string;
}

export interface HandedRun {
  facts: RunFacts;
  code: string;
  dataJson: string;
  consoleText: string;
  envelope: Envelope;
  /** The generated modules that the program imported, as they were. */
  modules: { module: string; text: string }[];
  /** What a replay needs to see the same clock, time zone, locale and randomness; the archive does not look into it. */
  environmentJson: string;
}
