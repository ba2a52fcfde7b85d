/**
 * Bounds for the numbers of a run. A record may come from a file that somebody sent, or from an edited archive. Within these
 * bounds every time is a valid date, and sums over all calls of a run are exact.
 */
import * as z from "zod/mini";

/** The last millisecond of the year 9999. Dates of databases, and years of four digits, end there. */
export const LAST_INSTANT_MS = 253_402_300_799_999;

/** The longest duration of a run or a call. It is far longer than a time limit, a slow server and a slow person together. */
export const LONGEST_MS = 366 * 24 * 60 * 60 * 1000;

/** The most calls of one run: as many as a configuration allows. */
export const MAX_CALLS = 1_000_000;

/** The largest count, or size in bytes, of one call or of a whole run's redactions. `MAX_CALLS` of them are a safe integer. */
export const MAX_COUNT = 2 ** 32;

/** A count, or a size in bytes, of one call or of a whole run's redactions. */
export const Count = z.int().check(z.gte(0), z.lte(MAX_COUNT));

/** A sum of counts over the calls of one run. */
export const Sum = z.int().check(z.gte(0), z.lte(Number.MAX_SAFE_INTEGER));

/** Milliseconds since 1970. */
export const Instant = z.int().check(z.gte(0), z.lte(LAST_INSTANT_MS));

/** How long something took, in milliseconds. */
export const Duration = z.number().check(z.gte(0), z.lte(LONGEST_MS));

/** Whole milliseconds. */
export const WholeDuration = z.int().check(z.gte(0), z.lte(LONGEST_MS));

/** The nearest valid duration in milliseconds, or 0 for NaN. */
export function boundDuration(ms: number): number {
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), LONGEST_MS);
}

/** The nearest valid count, or 0 for NaN. */
export function boundCount(count: number): number {
  return Number.isNaN(count) ? 0 : Math.min(Math.max(Math.round(count), 0), MAX_COUNT);
}

/** The nearest valid start of a run in milliseconds since 1970, or 0 for NaN. */
export function boundInstant(ms: number): number {
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(Math.round(ms), 0), LAST_INSTANT_MS);
}
