import { LAST_INSTANT_MS } from "../../bounds.ts";

/** SQL condition that the start in a row of `runs` or `run_tools` is a valid date. */
export const HAS_DATE = `started_at BETWEEN 0 AND ${LAST_INSTANT_MS}`;

/** SQL for a sum that is clamped to 0 and the largest safe integer. */
export function saturatingTotal(column: string): string {
  return `coalesce(max(0.0, min(total(${column}), ${Number.MAX_SAFE_INTEGER}.0)), 0.0)`;
}

/** Like `saturatingTotal`, as a whole number. */
export function saturatingSum(column: string): string {
  return `cast(${saturatingTotal(column)} AS INTEGER)`;
}
