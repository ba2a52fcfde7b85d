import { availableParallelism, totalmem } from "node:os";
import type { Machine } from "../sandbox/pool/pool-policy.ts";

const PROGRAMS_PER_CORE = 2;
/** The share of the machine's memory that running programs may fill. */
const MEMORY_SHARE = 0.5;
const MAX_PROGRAMS = 32;
const BYTES_PER_MB = 1024 * 1024;

/** The machine on which ptc runs. */
export function thisMachine(): Machine {
  return { cores: availableParallelism(), memoryBytes: totalmem() };
}

/**
 * How many programs run at the same time when the configuration does not say: two for each core, since programs mostly wait
 * for tools, as long as half the memory is enough for them. At least 1, at most 32.
 *
 * @param memoryMb the most memory of one program
 */
export function defaultParallelPrograms({ cores, memoryBytes }: Machine, memoryMb: number): number {
  const inMemory = Math.floor((memoryBytes * MEMORY_SHARE) / (memoryMb * BYTES_PER_MB));
  return Math.max(1, Math.min(cores * PROGRAMS_PER_CORE, inMemory, MAX_PROGRAMS));
}
