import { LAST_INSTANT_MS, LONGEST_MS, MAX_CALLS, MAX_COUNT } from "../../bounds.ts";

/** SQL condition that the start in a row of `runs` or `run_tools` is a valid date. */
const HAS_DATE = `started_at BETWEEN 0 AND ${LAST_INSTANT_MS}`;

/** What the numbers of a row about some calls can be: no more bytes than the calls can have returned. */
const HAS_SOUND_CALLS = `calls BETWEEN 0 AND ${MAX_CALLS} AND failed_calls BETWEEN 0 AND calls AND result_bytes BETWEEN 0 AND calls * ${MAX_COUNT}`;

/** SQL condition that the numbers in a row of `runs` are some that a run can have. */
export const IS_SOUND_RUN = `(${HAS_DATE} AND ${HAS_SOUND_CALLS} AND duration_ms BETWEEN 0 AND ${LONGEST_MS} AND returned_bytes BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER})`;

/** SQL condition that the numbers in a row of `run_tools` are some that the calls of one tool can have. */
export const ARE_SOUND_CALLS = `(${HAS_DATE} AND ${HAS_SOUND_CALLS} AND duration_ms BETWEEN 0 AND calls * ${LONGEST_MS})`;

/** SQL for a sum that is clamped to 0 and the largest safe integer. */
export function saturatingTotal(column: string): string {
  return `coalesce(max(0.0, min(total(${column}), ${Number.MAX_SAFE_INTEGER}.0)), 0.0)`;
}

/** Like `saturatingTotal`, as a whole number. */
export function saturatingSum(column: string): string {
  return `cast(${saturatingTotal(column)} AS INTEGER)`;
}
