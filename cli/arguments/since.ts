import { UsageError } from "../exit-code.ts";

const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/**
 * Parses a moment: `24h`, `7d` (that long ago), `2026-11-01` (the beginning of that day, UTC) or an ISO 8601 time. Returns
 * milliseconds since 1970.
 *
 * @throws UsageError
 */
export function parseMoment(option: string, text: string, nowMs: number): number {
  const [, amount, unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (amount !== undefined) return nowMs - Number(amount) * (UNIT_MS[unit] ?? 0);
  const moment = /^\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  // `Date` reads a day that the month does not have as one of the next month.
  const day = Number.isFinite(moment) ? new Date(`${text.slice(0, 10)}T00:00Z`).toISOString() : "";
  if (day.startsWith(text.slice(0, 10)) && day !== "") return moment;
  throw new UsageError(
    `${option}: '${text.slice(0, 80)}' is not a time; give 24h, 7d, or a date like 2026-11-01`,
  );
}
