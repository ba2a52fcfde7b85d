/** A program without its texts. */
export interface BlankedProgram {
  /** The program with a space for each character of a comment or of a string's text. Lines and columns stay as they are. */
  code: string;
  /** Whether every string and every bracket is closed. */
  isClosed: boolean;
}

/** More levels than strings of Python 3.11 can nest, because each level needs other quotes. */
const MAX_NESTED_STRINGS = 6;
const CLOSING: ReadonlyMap<string, string> = new Map([
  [")", "("],
  ["]", "["],
  ["}", "{"],
]);

/**
 * Removes the texts of comments and strings from a Python program (The Python Language Reference 3.11, 2.1 and 2.4), so that the
 * rest can be searched for words. Keeps the expressions of f-strings. Accepts any text, and takes time linear in its length.
 */
export function blankTexts(source: string): BlankedProgram {
  return blank(source, 0);
}

function blank(source: string, depth: number): BlankedProgram {
  const parts: string[] = [];
  const brackets: string[] = [];
  let isClosed = true;
  let done = 0;
  const interesting = /["'#()[\]{}]/g;
  for (let found = interesting.exec(source); found !== null; found = interesting.exec(source)) {
    const [character] = found;
    const at = found.index;
    if (character === "#") {
      const end = endOfLine(source, at);
      parts.push(source.slice(done, at), spaces(source.slice(at, end)));
      done = end;
      interesting.lastIndex = end;
    } else if (character === '"' || character === "'") {
      const string = readString(source, at);
      isClosed &&= string.isClosed;
      const [prefix = ""] = /[A-Za-z]{0,2}$/.exec(source.slice(Math.max(done, at - 2), at)) ?? [];
      const inside = source.slice(string.from, string.to);
      const isFormatted = /f/i.test(prefix) && depth < MAX_NESTED_STRINGS;
      parts.push(
        source.slice(done, string.from),
        isFormatted ? blankFormatted(inside, depth) : spaces(inside),
      );
      done = string.to;
      interesting.lastIndex = string.end;
    } else if (CLOSING.has(character)) {
      if (brackets.pop() !== CLOSING.get(character)) isClosed = false;
    } else brackets.push(character);
  }
  parts.push(source.slice(done));
  return { code: parts.join(""), isClosed: isClosed && brackets.length === 0 };
}

interface FoundString {
  /** The start and end of its text, and the position after its closing quotes. */
  from: number;
  to: number;
  end: number;
  isClosed: boolean;
}

function readString(source: string, at: number): FoundString {
  const quote = source.charAt(at);
  const isLong = source.startsWith(quote.repeat(3), at);
  const quotes = isLong ? quote.repeat(3) : quote;
  const from = at + quotes.length;
  const stops = isLong ? new RegExp(`\\\\|${quotes}`, "g") : new RegExp(`\\\\|\\n|${quotes}`, "g");
  stops.lastIndex = from;
  for (let stop = stops.exec(source); stop !== null; stop = stops.exec(source)) {
    if (stop[0] === "\\") stops.lastIndex = stop.index + (source.startsWith("\\\r\n", stop.index) ? 3 : 2);
    else if (stop[0] === "\n") return { from, to: stop.index, end: stop.index, isClosed: false };
    else return { from, to: stop.index, end: stop.index + quotes.length, isClosed: true };
  }
  return { from, to: source.length, end: source.length, isClosed: false };
}

/** Blanks an f-string except for its expressions. A single `{` begins an expression, and its `}` ends it. */
function blankFormatted(text: string, depth: number): string {
  const parts: string[] = [];
  let open = 0;
  let from = 0;
  const braces = /\{\{|\}\}|[{}]/g;
  for (let brace = braces.exec(text); brace !== null; brace = braces.exec(text)) {
    const [found] = brace;
    if (open === 0 && found === "{") {
      parts.push(spaces(text.slice(from, brace.index)));
      from = brace.index;
      open = 1;
    } else if (open > 0) {
      open += found.startsWith("{") ? found.length : -found.length;
      if (open > 0) continue;
      const end = brace.index + found.length;
      parts.push(blank(text.slice(from, end), depth + 1).code);
      from = end;
      open = 0;
    }
  }
  const rest = text.slice(from);
  parts.push(open > 0 ? blank(rest, depth + 1).code : spaces(rest));
  return parts.join("");
}

function endOfLine(source: string, at: number): number {
  const end = source.indexOf("\n", at);
  return end === -1 ? source.length : end;
}

function spaces(text: string): string {
  return text.replace(/[^\r\n]/g, " ");
}

/** Syntax that is typical of Python. Programs can be long, so none of these patterns may backtrack. */
const SIGNS = [
  /^[ \t]*(?:async )?def \w+\(/m,
  /^[ \t]*(?:if|elif|else|for|while|try|except|with|class)\b[^{}\n]{0,200}:[ \t]{0,9}(?:#.*)?$/m,
  /^(?:import [\w.]+(?: as \w+)?|from [\w.]+ import [\w*,() ]+)$/m,
  /[(=,+][ \t]*f["']/,
  /^[ \t]*(?:\w+[ \t]*=[ \t]*)?(?:await )?\w+\(\w+=(?!=)/m,
  /^[ \t]*#(?!!)/m,
  /^[ \t]*print\(/m,
];

/** Syntax that does not occur in Python. */
const FOREIGN =
  /=>|[=!]==|&&|\|\||`|^[ \t]*(?:export[ \t]+)?(?:const|let|var|function|interface)[ \t]+[\w$[{]|\bnew [A-Z]|;[ \t]*$|\?\.|\?\?/m;

/** Whether a text has signs of Python. */
export function looksLikePython(code: string): boolean {
  return SIGNS.some((sign) => sign.test(code));
}

/** Whether a text can be Python: its strings and brackets are closed, and it has no syntax of other languages. */
export function mayBePython(code: string): boolean {
  const { code: rest, isClosed } = blankTexts(code);
  return isClosed && !FOREIGN.test(rest);
}
