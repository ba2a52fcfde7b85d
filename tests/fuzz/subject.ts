import type { Random } from "./random.ts";

/** What a fuzz target is made of. */
export interface Subject {
  name: string;
  /** How many inputs `fuzz.test.ts` tries, and how many `samples.test.ts`. */
  iterations?: number;
  samples?: number;
  generate(random: Random): Buffer | string;
  /**
   * Throws where something does not hold.
   *
   * @param random decided by the input, and by which try of it this is.
   */
  check(input: Buffer, random: Random): void | Promise<void>;
  /** Makes what the checks share, and returns how to clear it. */
  open?(): Promise<() => Promise<void> | void>;
}
