import type { Surroundings } from "../surroundings.ts";

/** The parts of its process that a caller lends to a background host. */
export type CallersProcess = Surroundings & {
  stdout: { columns?: number };
  stderr: { columns?: number };
};
