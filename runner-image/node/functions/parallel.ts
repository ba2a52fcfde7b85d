/**
 * Runs functions concurrently, at most `limit` at a time (by default all at once), and resolves to their results in order.
 * Rejects with the first rejection and starts nothing more after it.
 */
export async function parallel<T>(
  functions: readonly (() => Promise<T> | T)[],
  options: { limit?: number } = {},
): Promise<T[]> {
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  if (!(limit >= 1)) throw new RangeError(`parallel: limit must be at least 1, not ${String(limit)}`);
  const results: T[] = new Array(functions.length);
  let next = 0;
  let failed = false;
  const worker = async () => {
    while (next < functions.length && !failed) {
      const index = next++;
      try {
        const run = functions[index];
        if (typeof run !== "function") {
          throw new TypeError(
            `parallel: item ${index} is not a function; pass () => getX(args), not getX(args)`,
          );
        }
        results[index] = await run();
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, functions.length) }, worker));
  return results;
}
