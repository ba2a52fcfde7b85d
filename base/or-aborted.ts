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
