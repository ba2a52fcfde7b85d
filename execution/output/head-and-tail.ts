import { cutToBytes, TRUNCATION_MARK } from "../../protocol/text-cap.ts";

/** The part of a text that is left out, in UTF-16 code units. */
export interface LeftOut {
  from: number;
  to: number;
  /** The length of the whole text. */
  of: number;
}

/** A cut text is longer than its cap by this mark. */
const MARK_BYTES = Buffer.byteLength(`\n${TRUNCATION_MARK}\n`);
/** If a line ends within this share of a part, the part ends at that line. */
const NEAR_END = 0.25;

/**
 * The text if it has at most `maxBytes` in UTF-8. Otherwise its beginning and its end, with a line between them about the missing
 * part, and the truncation mark as the last line. The result has at most `maxBytes` plus the length of the line in between.
 */
export function headAndTail(text: string, maxBytes: number, describe: (leftOut: LeftOut) => string): string {
  if (Buffer.byteLength(text) <= maxBytes + MARK_BYTES) return text;
  const { head, tail } = splitEnds(text, maxBytes - MARK_BYTES);
  const leftOut = { from: head.length, to: text.length - tail.length, of: text.length };
  const end = tail.replace(/\n$/, "");
  const mark = end.endsWith(TRUNCATION_MARK) ? "" : `\n${TRUNCATION_MARK}`;
  return `${head}${head === "" || head.endsWith("\n") ? "" : "\n"}${describe(leftOut)}\n${end}${mark}`;
}

/** The beginning and the end of a text, together at most `maxBytes` long. Neither splits a character, or a line if avoidable. */
export function splitEnds(text: string, maxBytes: number): { head: string; tail: string } {
  const half = Math.max(0, Math.floor(maxBytes / 2));
  const head = cutToBytes(text, half);
  const tail = endOf(text.slice(head.length), half);
  const lineEnd = head.lastIndexOf("\n") + 1;
  const lineStart = tail.indexOf("\n") + 1;
  return {
    head: lineEnd > head.length * (1 - NEAR_END) ? head.slice(0, lineEnd) : head,
    tail: lineStart > 0 && lineStart < tail.length * NEAR_END ? tail.slice(lineStart) : tail,
  };
}

/** The longest end of `text` that takes at most `maxBytes` in UTF-8 and splits no character. */
function endOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text.slice(Math.max(0, text.length - maxBytes)));
  let start = Math.max(0, bytes.length - maxBytes);
  while (start < bytes.length && ((bytes[start] as number) & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString("utf8");
}
