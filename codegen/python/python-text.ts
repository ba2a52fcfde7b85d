import { digestOf } from "../../protocol/canonical-json.ts";
import { visibleText } from "../escape.ts";

/**
 * The only place where a server's text becomes Python: a string literal, a docstring or a comment. Only type checkers and editors
 * read Python code with such text. It never runs.
 */

/** Control characters, format characters (bidi, zero width, tags), line separators and lone surrogates. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** A Python string literal in double quotes on one line, with the same value. */
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

/** The lines of a text, without trailing white space, and without empty lines at its start and end. */
function trimmedLines(text: string): string[] {
  const lines = visibleText(text)
    .split("\n")
    .map((line) => line.trimEnd());
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  return lines;
}

/** A docstring without indentation. Empty if there is no text. */
export function docstring(text: string): string[] {
  const lines = trimmedLines(text).map((line) =>
    line.replace(/\\/g, "\\\\").replace(/"{2,}|"$/g, (quotes) => quotes.replaceAll('"', '\\"')),
  );
  const [first, ...rest] = lines;
  if (first === undefined) return [];
  const opened = first.startsWith('"') ? ` ${first}` : first;
  return rest.length === 0 ? [`"""${opened}"""`] : [`"""${opened}`, ...rest, '"""'];
}

/** The lines of a printed text that are not in a docstring, each with its start in UTF-16 code units. */
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

/** Line comments, without meaning for type checkers. Empty if there is no text. */
export function lineComments(text: string): string[] {
  return trimmedLines(text).map((line) =>
    line === "" ? "#" : `# ${line.replace(/^\s*(?=type:|pyright:|mypy:|noqa|ptc )/i, "$&- ")}`,
  );
}

/** Indents lines that are not empty. */
export function indent(lines: readonly string[], spaces = 4): string[] {
  return lines.map((line) => (line === "" ? line : " ".repeat(spaces) + line));
}

const words = (lines: readonly string[]): ReadonlySet<string> =>
  new Set(lines.flatMap((line) => line.split(" ")));

/** The keywords of Python, which cannot be names. */
const KEYWORDS = words([
  "False None True and as assert async await break class continue def del elif else except finally for from global",
  "if import in is lambda nonlocal not or pass raise return try while with yield",
]);

/** The names that annotations in stubs use. */
export const ANNOTATION_NAMES = words([
  "Any Literal Mapping Never NotRequired Sequence TypedDict overload bool dict float int list str",
]);

const MAX_NAME_CHARS = 64;

/** Matches a hash at the end of an identifier that had to be made distinct. */
const HASH = /^.+_([0-9a-f]{8}|[0-9a-f]{16}|[0-9a-f]{64})$/;

/**
 * The name of a tool's function in Python: the protocol name, with `_` for every character that an identifier cannot have, and
 * after a keyword or the name of a type. If `identifier` has a hash, so does this name, so that two tools with different
 * identifiers have different names.
 *
 * @param identifier the name of the tool in the catalog, distinct within its server.
 */
export function functionName(name: string, identifier: string): string {
  const whole = plainName(name, "tool");
  const hash = HASH.exec(identifier)?.[1] ?? (whole.length > MAX_NAME_CHARS ? shortHash(name) : undefined);
  const plain = whole.slice(0, MAX_NAME_CHARS);
  const stem = /^__.*__$/.test(plain) ? `${plain.replace(/^_+|_+$/g, "") || "tool"}_` : plain;
  if (hash !== undefined) return `${stem.replace(/_+$/, "") || "tool"}_${hash}`;
  return KEYWORDS.has(stem) || ANNOTATION_NAMES.has(stem) ? `${stem}_` : stem;
}

/** The name of a server's module in Python, after `servers.`. */
export function packageName(module: string): string {
  if (/^[0-9]/.test(module)) return `_${module}`;
  return KEYWORDS.has(module) ? `${module}_` : module;
}

/** Distinct names of keyword parameters, by the names of properties. */
export function parameterNames(properties: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set(properties.filter(isPythonName));
  for (const property of properties) {
    if (isPythonName(property)) {
      names.set(property, property);
      continue;
    }
    const plain = plainName(property, "value").slice(0, MAX_NAME_CHARS);
    const wanted = KEYWORDS.has(plain) ? `${plain}_` : plain;
    const name = taken.has(wanted) ? `${wanted}_${shortHash(property)}` : wanted;
    taken.add(name);
    names.set(property, name);
  }
  return names;
}

/** Whether a name is an identifier that Python reads unchanged. */
export function isPythonName(name: string): boolean {
  return (
    /^[\p{XIDS}_][\p{XIDC}]*$/u.test(name) &&
    name.normalize("NFKC") === name &&
    name.length <= 2 * MAX_NAME_CHARS &&
    !KEYWORDS.has(name)
  );
}

function shortHash(name: string): string {
  return digestOf(name).slice("sha256:".length).slice(0, 8);
}

/** An identifier of ASCII letters, digits and `_`. Never empty. */
function plainName(name: string, empty: string): string {
  const plain = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9_]/g, "_");
  if (/^_*$/.test(plain)) return empty + plain;
  return /^[0-9]/.test(plain) ? `_${plain}` : plain;
}
