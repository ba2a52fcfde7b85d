import { blockComment, commentLines } from "./escape.ts";
import { groupOptional } from "./group-optional.ts";
import type { Documentation } from "./type-model.ts";

/** What the placeholders stand for. */
export interface Placeholders {
  /** Source text by number: `ptc$p7` is a property's name, `"ptc$t7"` a type. */
  texts: readonly string[];
  /** Lines by number: `ptc$p7d3` is a property that comment 3 is about. */
  comments: readonly (readonly string[])[];
}

/** How a type is laid out: as documentation to read, or in as few tokens as say the same. */
export interface TypeLayout {
  /** The comment of a property or a type, none when it has nothing to say. */
  describe: (documentation: Documentation) => string[];
  /** Lays a printed skeleton out and puts what was written in the places kept for it. */
  fill: (skeleton: string, placeholders: Placeholders) => string;
}

/** For modules: indented, with a doc comment before each property. */
export const DOCUMENTED: TypeLayout = {
  describe({ description = "", ...documentation }) {
    const facts: string[] = [];
    if (documentation.default !== undefined && !/default/i.test(description)) {
      facts.push(...commentLines(documentation.default).map((line) => `@default ${line}`));
    }
    if (documentation.format !== undefined) facts.push(`@format ${documentation.format}`);
    if (documentation.deprecated) facts.push("@deprecated");
    return blockComment(description, facts);
  },
  fill(skeleton, placeholders) {
    const lines: string[] = [];
    let depth = 0;
    for (const { text, comment } of readLines(simplify(skeleton), placeholders)) {
      for (const each of comment) lines.push("  ".repeat(depth) + each);
      const leading = text.startsWith("}") ? 1 : 0;
      const indent = "  ".repeat(depth - leading);
      depth += count(text, "{") - count(text, "}");
      const end = depth > 0 && !text.endsWith("{") ? ";" : "";
      lines.push(indent + put(text, placeholders) + end);
    }
    return lines.join("\n").replace(/\{\n\s*\}/g, "{}");
  },
};

/**
 * For a model to read: a line for each property, `name?:type` and behind it, after a space, what is said of it. No type
 * has a space in it but within quotes.
 */
export const BRIEF: TypeLayout = {
  describe: describeBriefly,
  fill(skeleton, placeholders) {
    return readLines(joinShortObjects(simplify(skeleton)), placeholders)
      .map(({ text, comment }, i) => {
        const indent = i === 0 || text.startsWith("}") ? "" : " ";
        return appendComment(indent + put(tighten(text), placeholders), comment);
      })
      .join("\n")
      .replace(/\{\n\}/g, "{}");
  },
};

/** For a list of many tools: types alone, on one line. */
export const COMPACT: TypeLayout = {
  describe: () => [],
  fill(skeleton, placeholders) {
    const lines = readLines(groupOptional(simplify(skeleton)), placeholders).map(({ text }) => tighten(text));
    return lines
      .map((line, i) => {
        const end = line.endsWith("{") || i + 1 === lines.length || lines[i + 1]?.startsWith("}") ? "" : ",";
        return put(line, placeholders) + end;
      })
      .join("");
  },
};

/** What stands behind a property: its default as a parameter would have it, its format, and the description. */
function describeBriefly({ description = "", ...documentation }: Documentation): string[] {
  const facts: string[] = [];
  if (documentation.default !== undefined && !/default/i.test(description))
    facts.push(`= ${documentation.default}`);
  if (documentation.format !== undefined && !description.toLowerCase().includes(documentation.format))
    facts.push(`(${documentation.format})`);
  if (documentation.deprecated) facts.push("(deprecated)");
  return briefLines([...facts, description.trim()].filter((each) => each !== "").join(" "));
}

/** The lines of a text with no more space than it needs; none when it is empty. Paragraphs that were wrapped are not. */
export function briefLines(text: string): string[] {
  const brief = commentLines(text.trim())
    .join("\n")
    .replace(/[ \t]+/g, " ")
    .replaceAll("\n ", "\n")
    .replace(WRAPPED, " ");
  return brief === "" ? [] : brief.split("\n");
}

/** The end of a long line that goes on in lower case, and of any line before what is said of items. */
const WRAPPED = /(?<=[^\n]{50})\n(?=[a-z(])|\n(?=(?:Items|Values): [^\n]*$)/g;

/** Text as a comment that ends with its line, or, when it has several lines, by its own end. */
export function trailingComment(lines: readonly string[]): string {
  if (lines.length === 0) return "";
  return lines.length === 1 ? `// ${lines[0]}` : `/* ${lines.join("\n")}*/`;
}

/** Puts a comment behind a line. One of a single line needs no mark there, unless an object has just begun. */
function appendComment(line: string, comment: readonly string[]): string {
  const [first = "", ...others] = comment;
  const marked = others.length > 0 || first === "" || first.startsWith("/") || line.endsWith("{");
  return marked ? line + trailingComment(comment) : `${line} ${first}`;
}

/** The lines of a skeleton, each with the comment on the property that begins there. */
function readLines(
  skeleton: string,
  { comments }: Placeholders,
): { text: string; comment: readonly string[] }[] {
  return skeleton.split("\n").map((text) => {
    const index = /^ptc\$p\d+d(\d+)/.exec(text)?.[1];
    return { text, comment: index === undefined ? [] : (comments[Number(index)] ?? []) };
  });
}

/** The library says the lengths of a tuple once more; nothing else of ours gives it anything to comment. */
const LIBRARY_COMMENT = /^\/\*\*\n(?: \*.*\n)*? \*\/\n/gm;

const PLACEHOLDER = /"?ptc\$[pt](\d+)(?:d\d+)?"?/g;

function put(line: string, { texts }: Placeholders): string {
  return line
    .replace(/\(("ptc\$t\d+"|\w+)\)\[\]/g, "$1[]")
    .replace(PLACEHOLDER, (_match, index: string) => texts[Number(index)] ?? "never");
}

/** Says a line of a skeleton in as few tokens as it takes. No space in it separates words. */
function tighten(line: string): string {
  return line.replace(/\{ \[k: string\]: (?:any|unknown) \}/g, "object").replaceAll(" ", "");
}

/** Puts objects on one line in which nothing is described, as long as that is no long line. */
function joinShortObjects(skeleton: string): string {
  const joined = skeleton.replace(UNDESCRIBED, (object, lines: string) =>
    lines.length > MAX_JOINED_CHARS ? object : `{${lines.trimEnd().replaceAll("\n", ",")}}`,
  );
  return joined === skeleton ? joined : joinShortObjects(joined);
}

/** An object within another, without a described property, and without one that takes several lines. */
const UNDESCRIBED = /(?<!^)\{\n((?:(?!ptc\$p\d+d|\})[^\n]*(?<!\{)\n)+)\}/g;
const MAX_JOINED_CHARS = 240;

/** Takes brackets off that surround a whole type, and puts objects of an index signature alone on one line. */
function simplify(skeleton: string): string {
  const text = skeleton.replace(LIBRARY_COMMENT, "").replace(/\{\n(\[k: string\]: [^\n{}]*)\n\}/g, "{ $1 }");
  const open: number[] = [];
  const drop = new Set<number>();
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "(") open.push(i);
    if (text[i] !== ")") continue;
    const start = open.pop();
    if (start === undefined) break;
    const whole =
      (start === 0 || text.startsWith(": ", start - 2)) && (i + 1 === text.length || text[i + 1] === "\n");
    if (whole) drop.add(start).add(i);
  }
  return drop.size === 0 ? text : Array.from(text, (character, i) => (drop.has(i) ? "" : character)).join("");
}

function count(text: string, character: string): number {
  let n = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) n++;
  return n;
}
