/** What a format looks like. Whether a text has a format reveals nothing of it. */
const FORMATS: readonly (readonly [string, RegExp])[] = [
  ["date-time", /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/],
  ["date", /^\d{4}-\d\d-\d\d$/],
  ["uuid", /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i],
  ["uri", /^https?:\/\/[^\s]{1,2000}$/],
  ["email", /^[^\s@<>]{1,64}@[^\s@<>]{1,255}\.[a-z]{2,24}$/i],
];

/** Longer texts have no format. */
const MAX_CHARS = 2_048;

/** The format of a text as JSON Schema names it; `json` where it is an array or an object as text; else `plain`. */
export function formatOf(text: string): string {
  if (text.length > MAX_CHARS) return "plain";
  const format = FORMATS.find(([, pattern]) => pattern.test(text))?.[0];
  return format ?? (isJson(text) ? "json" : "plain");
}

function isJson(text: string): boolean {
  if (!/^\s*(?:\{[\s\S]*\}|\[[\s\S]*\])\s*$/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
