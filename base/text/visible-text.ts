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
