import { visibleText } from "../escape.ts";

/**
 * The only place where text of a server becomes Python: as a string literal, a docstring or a comment. Python code that
 * holds such text is read by type checkers and editors only; it never runs.
 */

/** Control characters, format characters (bidi, zero width, tags), line separators and lone surrogates. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A string literal in double quotes, on one line, the same value in Python. */
export function pythonString(value: string): string {
  const text = value.replace(/["\\]/g, "\\$&").replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (character === "\n") return "\\n";
    return code > 0xffff
      ? `\\U${code.toString(16).padStart(8, "0")}`
      : `\\u${code.toString(16).padStart(4, "0")}`;
  });
  return `"${text}"`;
}

/** The lines of a text, without white space at their ends and without empty lines at its ends. */
function trimmedLines(text: string): string[] {
  const lines = visibleText(text)
    .split("\n")
    .map((line) => line.trimEnd());
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

/** A docstring, without indentation; empty when there is no text. */
export function docstring(text: string): string[] {
  const lines = trimmedLines(text).map((line) =>
    line.replace(/\\/g, "\\\\").replace(/"{2,}|"$/g, (quotes) => quotes.replaceAll('"', '\\"')),
  );
  const [first, ...rest] = lines;
  if (first === undefined) return [];
  const opened = first.startsWith('"') ? ` ${first}` : first;
  return rest.length === 0 ? [`"""${opened}"""`] : [`"""${opened}`, ...rest, '"""'];
}

/** The lines of a printed text that are not in a docstring, with where each begins, in UTF-16 code units. */
export function* codeLines(text: string): Generator<{ line: string; start: number }> {
  let isInDocstring = false;
  let at = 0;
  for (const line of text.split("\n")) {
    const start = at;
    at += line.length + 1;
    const trimmed = line.trimStart();
    if (isInDocstring) isInDocstring = trimmed !== '"""';
    else if (!trimmed.startsWith('"""')) yield { line, start };
    else isInDocstring = !trimmed.slice(3).endsWith('"""');
  }
}

/** Line comments; none when there is no text. None of them is read by a type checker. */
export function lineComments(text: string): string[] {
  return trimmedLines(text).map((line) =>
    line === "" ? "#" : `# ${line.replace(/^\s*(?=type:|pyright:|mypy:|noqa|ptc )/i, "$&- ")}`,
  );
}

/** Puts spaces before lines that are not empty. */
export function indent(lines: readonly string[], spaces = 4): string[] {
  return lines.map((line) => (line === "" ? line : " ".repeat(spaces) + line));
}
