/** Waits for work until a time in milliseconds has passed or a signal aborts. The work itself continues. */

/** Returns the value of the work. @throws the error that `late` builds when the time is over, and any error of the work. */
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

/** Whether the work settles within the time, with a value or an error. Never throws. */
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

/** Resolves when the signal aborts, or at once if it has already. The signal keeps a reference to the waiting code until then. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * Settles as the work does, unless the signal aborts first or has already aborted. The work itself continues. A signal that lives
 * longer than the work keeps no listener of it, unlike a long-lived promise in a `Promise.race`.
 *
 * @param abortion builds the error to throw when the signal aborts.
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
 * Returns the value of the work, or `undefined` if the signal aborts first or has already aborted. The work itself continues.
 *
 * @throws any error that the work throws before the signal aborts.
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
 * Derives a signal for one of many tasks that share `shared`. Each task adds its listeners to a separate signal, because older
 * versions of Node.js report more than ten listeners on one signal as a leak.
 */
export function ownSignal(shared: AbortSignal): AbortSignal {
  return AbortSignal.any([shared]);
}
