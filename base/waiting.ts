/** Waits for work for a limited time, in milliseconds. Work that is late continues. */

/** Returns the value of the work. @throws what `late` builds when the time is over, and what the work throws. */
export async function inTime<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  if (ms === Number.POSITIVE_INFINITY) return work;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(ms, 0));
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the work has come to an end, good or bad, within the time. Never throws. */
export async function settlesWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const settled = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the signal comes; at once, where it has come already. The signal holds what waits until then. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * Settles as the work does, unless the signal comes first or has come already. The work itself goes on. Nothing of it stays with
 * a signal that lasts longer, as it would with a promise in a `Promise.race`.
 *
 * @param abortion builds what is thrown when the signal comes.
 */
export async function orAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  abortion: () => Error,
): Promise<T> {
  if (signal === undefined) return work;
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(abortion());
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/**
 * What the work comes to, or `undefined` when the signal comes first or has come already. The work itself goes on.
 *
 * @throws what the work throws before the signal comes.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) {
    work.catch(() => {});
    return undefined;
  }
  const abortion = new Error("aborted");
  try {
    return await orAborted(work, signal, () => abortion);
  } catch (error) {
    if (error === abortion) return undefined;
    throw error;
  }
}

/**
 * A signal that aborts with another, for one of many tasks that share it. The listeners of each task are on a signal of its
 * own, because older versions of Node.js report more than ten on one signal as a leak.
 */
export function ownSignal(shared: AbortSignal): AbortSignal {
  return AbortSignal.any([shared]);
}
