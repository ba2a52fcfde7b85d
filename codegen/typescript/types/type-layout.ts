import type { Documentation } from "../../../catalog/model/type-model.ts";
import { blockComment, commentLines } from "../../escape.ts";

/** The least number of optional properties for which a group is shorter: alone, and beside required ones. */
const MIN_ALONE = 4;
const MIN_BESIDE = 5;

/**
 * Rewrites objects of many optional properties as `{required}&Partial<{optional}>`: one word for all of them instead of
 * a mark on each. Takes and gives a skeleton, a property to a line.
 */
function groupOptional(skeleton: string): string {
  let at = 0;
  const readLine = (): string => {
    let text = "";
    while (at < skeleton.length && skeleton[at] !== "\n") {
      if (skeleton.startsWith("{\n", at)) {
        const object = readObject();
        text += object.includes("}&Partial<{") && skeleton.startsWith("[]", at) ? `(${object})` : object;
      } else {
        text += skeleton[at++];
      }
    }
    at++;
    return text;
  };
  const readObject = (): string => {
    at += "{\n".length;
    const properties: string[] = [];
    while (at < skeleton.length && skeleton[at] !== "}") properties.push(readLine());
    at++;
    return printObject(properties);
  };
  return readLine();
}

function printObject(properties: readonly string[]): string {
  const block = (lines: readonly string[]): string => `{\n${lines.map((line) => `${line}\n`).join("")}}`;
  const isOptional = (property: string): boolean => /^ptc\$p[\dd]+\?: /.test(property);
  const optional = properties.filter(isOptional).map((property) => property.replace("?: ", ": "));
  const others = properties.filter((property) => !isOptional(property));
  if (optional.length < (others.length === 0 ? MIN_ALONE : MIN_BESIDE)) return block(properties);
  const group = `Partial<${block(optional)}>`;
  return others.length === 0 ? group : `${block(others)}&${group}`;
}

/** What the placeholders stand for. */
export interface Placeholders {
  /** Source text by number: `ptc$p7` is a property's name, `"ptc$t7"` a type. */
  texts: readonly string[];
  /** Lines by number: `ptc$p7d3` is a property that comment 3 is about. */
  comments: readonly (readonly string[])[];
}

/** A layout of types: as documentation, or in as few tokens as possible. */
export interface TypeLayout {
  /** The comment of a property or a type, none when it has nothing to say. */
  describe: (documentation: Documentation) => string[];
  /** Lays out a printed skeleton and replaces its placeholders. */
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
 * For a model: a line for each property, `name?:type`, followed by a space and its description. Types contain spaces only
 * within quotes.
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

/** The text after a property: its default in the form of a parameter's, its format, and its description. */
function describeBriefly({ description = "", ...documentation }: Documentation): string[] {
  const facts: string[] = [];
  if (documentation.default !== undefined && !/default/i.test(description))
    facts.push(`= ${documentation.default}`);
  if (documentation.format !== undefined && !description.toLowerCase().includes(documentation.format))
    facts.push(`(${documentation.format})`);
  if (documentation.deprecated) facts.push("(deprecated)");
  return briefLines([...facts, description.trim()].filter((each) => each !== "").join(" "));
}

/** The lines of a text without needless white space; none when it is empty. A wrapped paragraph becomes one line. */
export function briefLines(text: string): string[] {
  const brief = commentLines(text.trim())
    .join("\n")
    .replace(/[ \t]+/g, " ")
    .replaceAll("\n ", "\n")
    .replace(WRAPPED, " ");
  return brief === "" ? [] : brief.split("\n");
}

/** Line ends to remove: after a long line that goes on in lower case, and before a last line about items. */
const WRAPPED = /(?<=[^\n]{50})\n(?=[a-z(])|\n(?=(?:Items|Values): [^\n]*$)/g;

/** Lines as a comment: one as `// ...`, several as a block. */
export function trailingComment(lines: readonly string[]): string {
  if (lines.length === 0) return "";
  return lines.length === 1 ? `// ${lines[0]}` : `/* ${lines.join("\n")}*/`;
}

/** Appends a comment to a line. A comment of one line needs no `//` unless the line opens an object. */
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

/** The only comments that the library writes here: they repeat the lengths of a tuple. */
const LIBRARY_COMMENT = /^\/\*\*\n(?: \*.*\n)*? \*\/\n/gm;

const PLACEHOLDER = /"?ptc\$[pt](\d+)(?:d\d+)?"?/g;

function put(line: string, { texts }: Placeholders): string {
  return line
    .replace(/\(("ptc\$t\d+"|\w+)\)\[\]/g, "$1[]")
    .replace(PLACEHOLDER, (_match, index: string) => texts[Number(index)] ?? "never");
}

/** A line of a skeleton in as few tokens as possible. None of its spaces separates words. */
function tighten(line: string): string {
  return line.replace(/\{ \[k: string\]: (?:any|unknown) \}/g, "object").replaceAll(" ", "");
}

/** Puts each object without a description on one line, unless that line would be long. */
function joinShortObjects(skeleton: string): string {
  const joined = skeleton.replace(UNDESCRIBED, (object, lines: string) =>
    lines.length > MAX_JOINED_CHARS ? object : `{${lines.trimEnd().replaceAll("\n", ",")}}`,
  );
  return joined === skeleton ? joined : joinShortObjects(joined);
}

/** An object within another, without a described property, and without one that takes several lines. */
const UNDESCRIBED = /(?<!^)\{\n((?:(?!ptc\$p\d+d|\})[^\n]*(?<!\{)\n)+)\}/g;
const MAX_JOINED_CHARS = 240;

/** Removes brackets around a whole type, and puts an object with nothing but an index signature on one line. */
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
