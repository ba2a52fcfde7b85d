import { UsageError } from "../../exit-code.ts";

const UNITS_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

const AGO = /^(\d{1,6})([mhdw])$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]{5,16}(?:Z|[+-]\d{2}:?\d{2})?$/;

/**
 * A point in time as people give it: `90m`, `24h`, `7d`, `4w` (before now), `2026-11-01` (its beginning, where ptc runs) or
 * ISO 8601. In milliseconds since 1970.
 *
 * @throws UsageError
 */
export function parseWhen(flag: string, text: string, nowMs: number): number {
  const [, number, unit = ""] = AGO.exec(text) ?? [];
  if (number !== undefined) return Math.max(0, nowMs - Number(number) * (UNITS_MS[unit] ?? 0));
  const ms = DAY.test(text)
    ? Date.parse(`${text}T00:00`)
    : INSTANT.test(text)
      ? Date.parse(text)
      : Number.NaN;
  // `2026-02-31` is a day of March to some.
  const isDay =
    !Number.isNaN(ms) &&
    new Date(Date.parse(`${text.slice(0, 10)}T00:00Z`)).toISOString().startsWith(text.slice(0, 10));
  if (isDay && ms >= 0) return ms;
  throw new UsageError(
    `${flag}: '${text.slice(0, 40)}' is no time; give 90m, 24h, 7d, 4w, 2026-11-01 or 2026-11-01T08:30Z`,
  );
}
