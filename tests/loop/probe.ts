import { setTimeout as delay } from "node:timers/promises";

/** The most processor time, in milliseconds, that anything may hold the loop at once that a server does for others. */
export const MAX_HELD_MS = 50;

export interface Held<T> {
  /** The most milliseconds of processor time of this thread between two turns of its loop. */
  heldMs: number;
  result: T;
}

/**
 * Counts how long work holds the loop of this thread at once, in its own processor time: what other processes and threads use of the
 * machine does not count. A timer that is due at every turn of the loop reads the clock of the thread.
 */
export async function heldBy<T>(work: () => T | Promise<T>): Promise<Held<T>> {
  // What was begun before does not count.
  await delay(5);
  let last = cpuMs();
  let heldMs = 0;
  const look = () => {
    const now = cpuMs();
    heldMs = Math.max(heldMs, now - last);
    last = cpuMs();
  };
  const probe = setInterval(look, 1);
  try {
    const result = await work();
    // The turn in which the work ended is over with the next.
    await delay(2);
    look();
    return { heldMs, result };
  } finally {
    clearInterval(probe);
  }
}

/** The least of several tries: what else the machine does makes a turn longer, and never shorter. Stops at the first that is within a bound. */
export async function leastHeldBy(
  work: () => unknown,
  { tries = 4, boundMs = MAX_HELD_MS } = {},
): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < tries && least > boundMs; i++) least = Math.min(least, (await heldBy(work)).heldMs);
  return least;
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
