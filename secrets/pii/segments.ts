/**
 * Texts are read line by line, and longer lines in parts, so that a text that comes in pieces is read as it would be in one. Nothing
 * that is recognised goes over the end of a part.
 */

/** The longest part of a line. */
const MAX_SEGMENT_CHARS = 8_192;

/** What is in nothing that is recognised. A line is divided behind the last of these. */
const DIVIDERS = /[,;{}[\]<>|"\t]/;

/** A space between words is the next best place: those in numbers are beside digits. */
const WORDS = /\p{Ll} \p{Ll}/u;

/** How far back a place is looked for. */
const MAX_BACK_CHARS = 4_096;

/** The end of the part that begins at a position; `undefined` when the text ends before the part does. */
export function segmentEnd(text: string, start: number): number | undefined {
  const limit = start + MAX_SEGMENT_CHARS;
  const part = text.slice(start, limit);
  const line = part.indexOf("\n");
  if (line >= 0) return start + line + 1;
  if (part.length < MAX_SEGMENT_CHARS) return undefined;
  const least = MAX_SEGMENT_CHARS - MAX_BACK_CHARS;
  for (let at = MAX_SEGMENT_CHARS; at > least; at--)
    if (DIVIDERS.test(part.charAt(at - 1))) return start + at;
  for (let at = MAX_SEGMENT_CHARS; at > least; at--)
    if (WORDS.test(part.slice(at - 2, at + 1))) return start + at;
  return /[\ud800-\udbff]$/.test(part) ? limit - 1 : limit;
}

/** The longest that something can be that is recognised. */
const MAX_RANGE_CHARS = 384;

/** Where what the end of a text could be the beginning of begins: its last word, and the numbers before that. */
export function unfinishedFrom(text: string): number {
  const least = Math.max(0, text.length - MAX_RANGE_CHARS);
  let at = text.length;
  while (at > least && !/\s/.test(text.charAt(at - 1))) at--;
  for (;;) {
    const before = /(?:^|\s)([+(]?[\p{Nd}\p{DI}().\-/_]+|[A-Z0-9]{1,4})\s$/u.exec(
      text.slice(Math.max(least, at - 24), at),
    );
    if (before === null || at <= least) return at;
    at -= before[0].length - (/^\s/.test(before[0]) ? 1 : 0);
  }
}
