import {
  createScanner,
  findNodeAtLocation,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";

/** An entry to set or remove in a text. */
export interface PlacedEdit {
  keys: readonly string[];
  name: string;
  /** The members to set; `undefined` removes the entry. */
  entry: Readonly<Record<string, unknown>> | undefined;
  /** The existing entry, parsed. */
  there: unknown;
  /** The text of a new entry with its comments. Its value equals `entry`. By default `entry` is rendered. */
  written?: string | undefined;
}

/** Kinds of tokens, as jsonc-parser numbers them (its `SyntaxKind` exists at compile time only). */
const LINE_COMMENT = 12;
const END = 17;

/** Matches everything between a value and the comma after it in JSON with comments, including that comma. */
const TO_COMMA = /^(?:\s|\/\/[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*,/;

/**
 * The JSON text, which may have comments, with the entry set or removed. `undefined` when nothing is left. Only the text of the entry
 * is rewritten, because formatting its surroundings would change text that nobody asked to change.
 */
export function editEntry(
  text: string,
  { keys, name, entry, there, written }: PlacedEdit,
): string | undefined {
  const place = [...keys, name];
  const form = formOf(text);
  if (entry === undefined) {
    let edited = withoutMember(text, find(text, place));
    // Objects that only led to the entry are removed too, unless they hold a comment.
    for (let depth = keys.length; depth > 0; depth--) {
      const node = find(edited, keys.slice(0, depth));
      const key = node?.parent?.children?.[0];
      if (node === undefined || key === undefined) break;
      const written = edited.slice(key.offset + key.length, node.offset + node.length);
      if (!/^\s*:\s*\{\s*\}$/.test(written)) break;
      edited = withoutMember(edited, node);
    }
    return /^\s*\{\s*\}\s*$/.test(edited) ? undefined : edited;
  }
  const set = (
    within: string,
    [key = "", ...rest]: readonly string[],
    value: unknown,
    at: readonly string[],
  ): string => {
    const node = find(within, [...at, key]);
    if (node !== undefined && rest.length > 0) return set(within, rest, value, [...at, key]);
    const whole = rest.reduceRight((inner, each) => ({ [each]: inner }), value);
    if (node !== undefined) return withValue(within, node, whole, form);
    return withMember(within, find(within, at), key, whole, form);
  };
  if (isBlank(text))
    return `${text}${text.trim() === "" || text.endsWith("\n") ? "" : form.eol}${JSON.stringify(
      place.reduceRight((inner: unknown, each) => ({ [each]: inner }), entry),
      undefined,
      2,
    )}\n`;
  if (there === undefined) {
    const added = set(text, place, entry, []);
    const node = find(added, place);
    if (written === undefined || node === undefined) return added;
    return `${added.slice(0, node.offset)}${written}${added.slice(node.offset + node.length)}`;
  }
  let edited = text;
  for (const [key, value] of Object.entries(entry)) {
    const old = (there as Record<string, unknown>)[key];
    if (JSON.stringify(old) !== JSON.stringify(value)) edited = set(edited, [...place, key], value, []);
  }
  return edited;
}

/** Whether a text has nothing but white space and comments. */
export function isBlank(text: string): boolean {
  return /^(?:\s|\/\/[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*$/.test(text);
}

/** The text of the entry; `undefined` if there is none. */
export function writtenEntry(text: string, place: readonly string[]): string | undefined {
  const node = find(text, place);
  return node === undefined ? undefined : text.slice(node.offset, node.offset + node.length);
}

/** The line and column, from 1, where a text stops being JSON with comments. */
export function placeOfMistake(text: string): string | undefined {
  const errors: ParseError[] = [];
  parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return undefined;
  const lines = text.slice(0, first.offset).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}: ${printParseErrorCode(first.error)}`;
}

function find(text: string, place: readonly string[]): Node | undefined {
  const root = parseTree(text, undefined, { allowTrailingComma: true });
  return root === undefined ? undefined : findNodeAtLocation(root, [...place]);
}

/** How a text is laid out; `indent` is undefined for one without line feeds. */
interface Form {
  indent: string | undefined;
  eol: string;
}

function formOf(text: string): Form {
  const isOneLine = !text.trimEnd().includes("\n") && /\S\s*[:,]/.test(text);
  return {
    indent: isOneLine ? undefined : (/^([ \t]+)\S/m.exec(text)?.[1] ?? "  "),
    eol: text.includes("\r\n") ? "\r\n" : "\n",
  };
}

function render(value: unknown, { indent, eol }: Form, base: string): string {
  return JSON.stringify(value, undefined, indent).replaceAll("\n", `${eol}${base}`);
}

function renderMember(key: string, value: unknown, form: Form, base: string): string {
  return `${JSON.stringify(key)}:${form.indent === undefined ? "" : " "}${render(value, form, base)}`;
}

/** The indentation of the line at an offset. */
function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1))?.[0] ?? "";
}

function withValue(text: string, { offset, length }: Node, value: unknown, form: Form): string {
  return `${text.slice(0, offset)}${render(value, form, indentAt(text, offset))}${text.slice(offset + length)}`;
}

/** Adds a member after the last one of an object. */
function withMember(text: string, object: Node | undefined, key: string, value: unknown, form: Form): string {
  if (object?.type !== "object") return text;
  const { indent, eol } = form;
  const last = object.children?.at(-1);
  if (last === undefined) {
    const at = object.offset + object.length - 1;
    const outer = indentAt(text, object.offset);
    const base = `${outer}${indent ?? ""}`;
    const member = renderMember(key, value, form, base);
    const before = text.slice(0, at);
    const isOnOwnLine = /\n[ \t]*$/.test(before);
    const head = isOnOwnLine ? before.replace(/\r?\n[ \t]*$/, "") : before;
    const tail = isOnOwnLine ? before.slice(head.length) : `${eol}${outer}`;
    const inside = indent === undefined ? member : `${eol}${base}${member}${tail}`;
    return `${indent === undefined ? before : head}${inside}${text.slice(at)}`;
  }
  const end = last.offset + last.length;
  const base = indentAt(text, last.offset);
  const member = renderMember(key, value, form, base);
  const isBroken = indent !== undefined && /\n[ \t]*$/.test(text.slice(0, last.offset));
  if (!isBroken) return `${text.slice(0, end)},${indent === undefined ? "" : " "}${member}${text.slice(end)}`;
  // A comment on the line of the last member stays there.
  const [rest = ""] =
    /^[ \t]*,?[ \t]*(?:\/\*(?:[^*\r\n]|\*(?!\/))*\*\/[ \t]*)*(?:\/\/[^\r\n]*)?(?=\r?\n)/.exec(
      text.slice(end),
    ) ?? [];
  const hasComma = /^[ \t]*,/.test(rest);
  const comma = hasComma ? "" : ",";
  const added = `${eol}${base}${member}${hasComma ? "," : ""}`;
  return `${text.slice(0, end)}${comma}${rest}${added}${text.slice(end + rest.length)}`;
}

/** Removes the member with this value, its line, and the superfluous comma. */
function withoutMember(text: string, value: Node | undefined): string {
  const member = value?.parent;
  const siblings = member?.parent?.children;
  if (member === undefined || siblings === undefined) return text;
  const index = siblings.indexOf(member);
  const previous = siblings[index - 1];
  const start = member.offset - (/(?:\r?\n)[ \t]*$/.exec(text.slice(0, member.offset))?.[0].length ?? 0);
  let end = member.offset + member.length;
  const comma = TO_COMMA.exec(text.slice(end))?.[0].length;
  if (comma !== undefined) {
    const trivia = text.slice(end, end + comma - 1);
    if (trivia.trim() !== "") return joined(joined(text.slice(0, start), trivia), text.slice(end + comma));
    const isBroken = start < member.offset;
    // Members on one line keep the space between the remaining ones.
    const space = isBroken ? 0 : (/^[ \t]*/.exec(text.slice(end + comma))?.[0].length ?? 0);
    return joined(text.slice(0, start), text.slice(end + comma + space));
  }
  if (previous === undefined) {
    const isAlone = text.slice(0, start).trimEnd().endsWith("{");
    if (isAlone) end += /^\s*(?=\})/.exec(text.slice(end))?.[0].length ?? 0;
    return joined(text.slice(0, start), text.slice(end));
  }
  const from = previous.offset + previous.length;
  const between = text.slice(from, start);
  const kept = between.replace(TO_COMMA, (found) => found.slice(0, -1));
  const isSpace = start === member.offset && kept.trim() === "";
  return joined(`${text.slice(0, from)}${isSpace ? "" : kept}`, text.slice(end));
}

/** Both texts together, with a line feed between them where the first ends in a comment that reaches to the end of its line. */
function joined(before: string, after: string): string {
  const scanner = createScanner(before, false);
  let last = 0;
  for (let kind: number = scanner.scan(); kind !== END; kind = scanner.scan()) last = kind;
  return `${before}${last === LINE_COMMENT && !/^\r?\n/.test(after) ? "\n" : ""}${after}`;
}
