import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How long work may hold up everything else that this process does. */
export const MAX_DELAY_MS = 250;
/** How much more may be held after many inputs than after the first. */
export const MAX_GROWTH_BYTES = 200 * 1024 * 1024;

/** What some work cost the thread that did it. */
export interface Load {
  /** The longest time for which nothing else could run. On a busy machine other processes count too. */
  delayMs: number;
  /** Time of the processor on this thread: what other processes do does not count. */
  cpuMs: number;
}

const RESOLUTION_MS = 5;

let histogram: ReturnType<typeof monitorEventLoopDelay> | undefined;

/** Does some work and measures what it cost. */
export async function measureLoad(work: () => void | Promise<void>): Promise<Load> {
  const cpu = process.threadCpuUsage();
  const start = performance.now();
  const pending = work();
  if (pending === undefined) return { delayMs: performance.now() - start, cpuMs: cpuSince(cpu) };
  histogram ??= monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  const firstTurnMs = performance.now() - start;
  histogram.reset();
  await pending;
  const wholeMs = performance.now() - start;
  const cpuMs = cpuSince(cpu);
  if (wholeMs < MAX_DELAY_MS / 2) return { delayMs: Math.min(wholeMs, MAX_DELAY_MS), cpuMs };
  // The last turn is counted when the next timer fires.
  await delay(3 * RESOLUTION_MS);
  const laterTurnsMs = histogram.max / 1e6 - RESOLUTION_MS;
  return { delayMs: Math.max(firstTurnMs, laterTurnsMs), cpuMs };
}

function cpuSince(before: ReturnType<typeof process.threadCpuUsage>): number {
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

let collect: (() => void) | undefined;

/** Bytes that are still held after all garbage is collected. */
export function heldBytes(): number {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc") as () => void;
  }
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
