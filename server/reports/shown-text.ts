import { formatBytes } from "../../base/quantities.ts";

/** Text of a run as a report shows it: complete, or only its beginning. */
export interface ShownText {
  text: string;
  /** The size of the complete text, in UTF-8. */
  bytes: number;
  /** Says in words what is missing; empty when nothing is. */
  cut: string;
}

/** The text, whole where it has no more characters than that. No character is cut in half. */
export function showText(text: string, maxChars: number): ShownText {
  const bytes = Buffer.byteLength(text);
  if (text.length <= maxChars) return { text, bytes, cut: "" };
  // The cut must not split a surrogate pair.
  const end = /[\ud800-\udbff]/.test(text[maxChars - 1] ?? "") ? maxChars - 1 : maxChars;
  const shown = text.slice(0, end);
  return {
    text: shown,
    bytes,
    cut: `the first ${formatBytes(Buffer.byteLength(shown))} of ${formatBytes(bytes)}`,
  };
}

/** A value as indented JSON. `bytes` is the size of its JSON without indentation. */
export function showJson(value: unknown, maxChars: number): ShownText {
  const json = JSON.stringify(value) ?? "null";
  const bytes = Buffer.byteLength(json);
  // A value that is much too long is not indented, which would take several times its memory.
  const shown =
    json.length > 4 * maxChars
      ? showText(json, maxChars)
      : showText(JSON.stringify(value, null, 2) ?? "null", maxChars);
  return { ...shown, bytes, cut: shown.cut === "" ? "" : `the beginning of ${formatBytes(bytes)}` };
}
