/**
 * Text of programs, servers and tools, as it can be shown to a person or put on a line of its own: characters that steer a
 * terminal, turn the direction of writing or cannot be seen are written as `\u{...}`, so that they are seen for what they are.
 */

/** Controls, formats, separators of lines and paragraphs, and halves of surrogate pairs. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** The controls and what turns the direction of writing (UAX #9). Joiners, as in emoji, stay. */
const STEERING =
  /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** Text on one line: a name, a title, a value in a list. */
export function visibleLine(text: string): string {
  return text.replace(UNSEEN, escapeCharacter);
}

/** Text of several lines: line feeds and tabs stay, and `\r\n` is a line feed. */
export function visibleLines(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(STEERING, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

const DOTS = "...";

/**
 * Text of somebody else's as a part of a line: white space of any kind is one space, and what cannot be seen is written out.
 * What is longer than `maxChars` UTF-16 code units ends in three dots.
 */
export function oneLine(text: string, maxChars = Number.POSITIVE_INFINITY): string {
  // A repeat without a bound would overflow V8's stack on a long text, where it has stopped to optimize regular expressions.
  const words = text.split(/[\s\u0085]{1,1000}/).filter((word) => word !== "");
  const line = visibleLine(words.join(" "));
  if (line.length <= maxChars) return line;
  // Half a surrogate pair is no character.
  return line.slice(0, Math.max(0, maxChars - DOTS.length)).replace(/[\ud800-\udbff]$/, "") + DOTS;
}

/** As many items as fit, and the number of the others. */
export function listUpTo(items: readonly string[], maxChars: number, separator = ", "): string {
  let text = "";
  for (const [index, item] of items.entries()) {
    const next = text === "" ? item : text + separator + item;
    const rest = items.length - index - 1;
    if (next.length > maxChars) return `${text}${text === "" ? "" : separator}and ${rest + 1} more`;
    text = next;
  }
  return text;
}

/** The most columns that any terminal gives to a character. */
export function columnsOf(character: string): number {
  return character < "\u007f" ? 1 : 2;
}
