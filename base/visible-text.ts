/**
 * Makes text from programs, servers and tools safe to show to a person or to put on one line. Characters that control a terminal,
 * change the writing direction or are invisible become `\u{...}`.
 */

/** Control and format characters, line and paragraph separators, and lone surrogates. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Control characters and characters that change the writing direction (UAX #9). Joiners, as in emoji, stay. */
const STEERING =
  /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** Formats text on one line, such as a name, a title or a value in a list. */
export function visibleLine(text: string): string {
  return text.replace(UNSEEN, escapeCharacter);
}

/** Formats text of several lines. Line feeds and tabs stay, and `\r\n` becomes a line feed. */
export function visibleLines(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(STEERING, escapeCharacter);
}

/** Writes one character as `\u{...}`. */
export function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

const DOTS = "...";

/**
 * Formats foreign text as part of a line. Each run of white space becomes one space, and invisible characters are escaped. Text
 * longer than `maxChars` UTF-16 code units is cut and ends in three dots.
 */
export function oneLine(text: string, maxChars = Number.POSITIVE_INFINITY): string {
  // An unbounded repeat would overflow V8's stack on a long text when V8 no longer optimizes regular expressions.
  const words = text.split(/[\s\u0085]{1,1000}/).filter((word) => word !== "");
  // Escapes make a line longer, so that no more than this is seen of it.
  const line = visibleLine(words.join(" ").slice(0, maxChars + 1));
  if (line.length <= maxChars) return line;
  // The cut must not leave half a surrogate pair.
  return line.slice(0, Math.max(0, maxChars - DOTS.length)).replace(/[\ud800-\udbff]$/, "") + DOTS;
}

/** Lists as many items as fit into `maxChars`, followed by the number of the others. */
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

/** Returns the most columns that any terminal gives to a character. */
export function columnsOf(character: string): number {
  return character < "\u007f" ? 1 : 2;
}
