import { visibleLine } from "./visible-text.ts";

const DOTS = "...";

/**
 * Text of somebody else's as a part of a line: white space of any kind is one space, and what cannot be seen is written out.
 * What is longer than `maxChars` UTF-16 code units ends in three dots.
 */
export function oneLine(text: string, maxChars = Number.POSITIVE_INFINITY): string {
  const line = visibleLine(text.replaceAll(/[\s\u0085]+/g, " ").trim());
  if (line.length <= maxChars) return line;
  // Half a surrogate pair is no character.
  return line.slice(0, Math.max(0, maxChars - DOTS.length)).replace(/[\ud800-\udbff]$/, "") + DOTS;
}
