const FACTOR = Number(process.env.PTC_TEST_TRIES ?? 1);

/**
 * How many random inputs, or rounds, a test tries that could go on for hours: few in each run of the tests, and more of them
 * with `PTC_TEST_TRIES=20`.
 */
export function tries(count: number): number {
  return Math.max(1, Math.round(count * FACTOR));
}
