/** Formats the numbers of a run for people. */

const BYTE_UNITS = ["kB", "MB", "GB", "TB"];
const TOKEN_UNITS = ["k", "M", "G"];
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Bytes of text per token: an estimate, because the model's tokenizer is not known. */
const BYTES_PER_TOKEN = 4;

/** `950`, `12,345`. */
export function formatCount(count: number): string {
  if (!Number.isSafeInteger(count)) return count.toLocaleString("en");
  // The first call of `toLocaleString` takes over ten milliseconds of processor time, which each start would pay.
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** `1 call`, `12,345 calls`. */
export function formatNumberOf(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** `999 B`, `1.2 kB`, `34 MB`. */
export function formatBytes(bytes: number): string {
  return bytes < 1_000 ? `${Math.round(bytes)} B` : scaled(bytes, BYTE_UNITS, " ");
}

/** Estimates how many tokens a text of this many bytes costs a model. */
export function estimateTokens(bytes: number): number {
  return Math.round(bytes / BYTES_PER_TOKEN);
}

/** `950`, `1.2k`, `34M`. */
export function formatTokens(tokens: number): string {
  return tokens < 1_000 ? String(tokens) : scaled(tokens, TOKEN_UNITS, "");
}

/** `0.4 ms`, `123 ms`, `1.24 s`, `3 min 20 s`, `2 h 3 min`, `4 d 1 h`. */
export function formatDuration(ms: number): string {
  if (ms < 9.95) return `${Number(ms.toFixed(1))} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_995) return `${(ms / SECOND).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / SECOND).toFixed(1)} s`;
  if (ms < HOUR) return inTwo(ms, MINUTE, "min", SECOND, "s");
  if (ms < DAY) return inTwo(ms, HOUR, "h", MINUTE, "min");
  return inTwo(ms, DAY, "d", HOUR, "h");
}

/** `YYYY-MM-DD HH:MM:SS`, in the time zone of this process. */
export function formatInstant(ms: number): string {
  const date = new Date(ms);
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(twoDigits).join("-");
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":")}`;
}

/** Like `formatInstant`, with the offset from UTC, for readers in other time zones. */
export function formatInstantWithZone(ms: number): string {
  const offset = -new Date(ms).getTimezoneOffset();
  if (offset === 0) return `${formatInstant(ms)} UTC`;
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  return `${formatInstant(ms)} ${offset < 0 ? "-" : "+"}${twoDigits(hours)}:${twoDigits(minutes)}`;
}

/** `just now`, `5 min ago`, `3 h ago`, `12 d ago`, or the date when the age exceeds a month. */
export function formatAge(ms: number, nowMs: number): string {
  const age = nowMs - ms;
  if (age < 0 || age > 31 * DAY) return formatInstant(ms).slice(0, 10);
  if (age < MINUTE) return "just now";
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min ago`;
  if (age < 2 * DAY) return `${Math.floor(age / HOUR)} h ago`;
  return `${Math.floor(age / DAY)} d ago`;
}

/** `1.9 %`. The result is `0 %` when `whole` is 0. */
export function formatShare(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Number(((100 * part) / whole).toFixed(1))} %`;
}

function scaled(value: number, units: readonly string[], space: string): string {
  let power = 1;
  while (value >= 999.5 * 1_000 ** power && power < units.length) power++;
  const number = value / 1_000 ** power;
  return `${number < 9.95 ? number.toFixed(1) : Math.round(number)}${space}${units[power - 1]}`;
}

function inTwo(ms: number, unit: number, name: string, part: number, partName: string): string {
  const parts = Math.round(ms / part);
  const whole = Math.floor((parts * part) / unit);
  const rest = parts - (whole * unit) / part;
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${partName}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}

/** `1 call`, `2 calls`. */
export function countNoun(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
