import { formatBytes } from "./quantities.ts";

/** Text of a run as a report shows it: whole, or its beginning and how long all of it is. */
export interface ShownText {
  text: string;
  /** Of the whole, in UTF-8. */
  bytes: number;
  /** What is missing, in words; empty where nothing is. */
  cut: string;
}

export function showText(text: string, maxChars: number): ShownText {
  const bytes = Buffer.byteLength(text);
  if (text.length <= maxChars) return { text, bytes, cut: "" };
  // Half a surrogate pair is no character.
  const end = /[\ud800-\udbff]/.test(text[maxChars - 1] ?? "") ? maxChars - 1 : maxChars;
  const shown = text.slice(0, end);
  return {
    text: shown,
    bytes,
    cut: `the first ${formatBytes(Buffer.byteLength(shown))} of ${formatBytes(bytes)}`,
  };
}

/** A value as indented JSON. Its size is that of its plain JSON. */
export function showJson(value: unknown, maxChars: number): ShownText {
  const json = JSON.stringify(value) ?? "null";
  const bytes = Buffer.byteLength(json);
  // Indenting a value only to cut it again is not worth much of anybody's memory.
  const shown =
    json.length > 4 * maxChars
      ? showText(json, maxChars)
      : showText(JSON.stringify(value, null, 2) ?? "null", maxChars);
  return { ...shown, bytes, cut: shown.cut === "" ? "" : `the beginning of ${formatBytes(bytes)}` };
}
