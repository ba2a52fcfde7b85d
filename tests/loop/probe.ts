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

/**
 * The least of several tries, in milliseconds of a quiet machine: what else the machine does makes a turn longer, and never shorter.
 * Stops at the first try that is within a bound. After a try that is not, work of a known length tells by how much the machine is slower
 * than a quiet one. It is done before and after each further try: a core that is shared, or throttled, is slow for both.
 */
export async function leastHeldBy(
  work: () => unknown,
  { tries = 6, boundMs = MAX_HELD_MS } = {},
): Promise<number> {
  const first = await heldBy(work);
  let least = first.heldMs;
  for (let i = 1; i < tries && least > boundMs; i++) {
    const before = slowness();
    const { heldMs } = await heldBy(work);
    least = Math.min(least, heldMs / Math.max(1, before, slowness()));
  }
  return least;
}

/** What the known work takes on a quiet core of the kind that the bounds were chosen on. */
const KNOWN_WORK_MS = 45;

/** How many times longer than on a quiet machine this thread takes for work at present. */
function slowness(): number {
  const begun = cpuMs();
  knownWork();
  return (cpuMs() - begun) / KNOWN_WORK_MS;
}

const KNOWN_VALUES = Array.from({ length: 4_000 }, (_, i) => ({
  id: i,
  name: `Item ${i} Ünïcode`,
  tags: ["a", "b"],
}));

/** What servers do for others: texts are parsed, searched, changed and written. */
function knownWork(): number {
  let letters = 0;
  for (let i = 0; i < 10; i++) {
    const values = JSON.parse(JSON.stringify(KNOWN_VALUES)) as typeof KNOWN_VALUES;
    for (const { name } of values) letters += name.replace(/[\p{Lu}\d]/gu, "x").normalize("NFKC").length;
  }
  return letters;
}
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
