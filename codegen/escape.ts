/**
 * The only place where a server's text becomes source text. All such text passes through these functions, so that it cannot end
 * its comment or literal, and cannot be invisible to a reader.
 */

/** Control characters, format characters (bidi, zero width, tags), line separators and lone surrogates. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Like `INVISIBLE`, without the characters that multi-line text, joined emoji and some scripts need. */
const INVISIBLE_IN_TEXT = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** A string literal in double quotes on one line, with the same value in TypeScript, JavaScript and JSON. */
export function quoteString(value: string): string {
  return JSON.stringify(value)
    .replace(INVISIBLE, (character) =>
      Array.from({ length: character.length }, (_, i) => escapeUnit(character.charCodeAt(i))).join(""),
    )
    .replaceAll("</", "<\\/");
}

/** A property name in the form of a type: bare if it is an identifier, or else a string literal. */
export function propertyName(name: string): string {
  return IDENTIFIER.test(name) ? name : quoteString(name);
}

/** A text with `\n` for every line end and with only visible characters. */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n?|[\u0085\u2028\u2029\v\f]/g, "\n")
    .replace(INVISIBLE_IN_TEXT, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The lines of a text for a block comment. No line can end the comment or become a directive. */
export function commentLines(text: string): string[] {
  return visibleText(text)
    .replaceAll("*/", "*\\/")
    .replaceAll("</", "<\\/")
    .replace(/^([\s*/]*)@/gm, "$1\\@")
    .split("\n")
    .map((line) => line.trimEnd());
}

/** A block comment without indentation. Empty if there is no text. @param facts trusted lines, used unchanged. */
export function blockComment(text: string, facts: readonly string[] = []): string[] {
  const lines = commentLines(text);
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  const all = [...lines, ...facts];
  if (all.length === 0) return [];
  if (all.length === 1) return [`/** ${all[0]} */`];
  return ["/**", ...all.map((line) => (line === "" ? " *" : ` * ${line}`)), " */"];
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
