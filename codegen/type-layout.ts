import { blockComment, commentLines } from "./escape.ts";
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
    for (const { text, comment } of readLines(skeleton, placeholders)) {
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

/** For a model to read: a line for each property, its comment behind it, no space that a reader can do without. */
export const BRIEF: TypeLayout = {
  describe: describeBriefly,
  fill(skeleton, placeholders) {
    return readLines(skeleton, placeholders)
      .map(({ text, comment }, i) => {
        const indent = i === 0 || text.startsWith("}") ? "" : " ";
        return indent + put(tighten(text), placeholders) + comment.join("\n");
      })
      .join("\n")
      .replace(/\{\n\}/g, "{}");
  },
};

/** For a list of many tools: types alone, on one line. */
export const COMPACT: TypeLayout = {
  describe: () => [],
  fill(skeleton, placeholders) {
    const lines = readLines(skeleton, placeholders).map(({ text }) => tighten(text));
    return lines
      .map((line, i) => {
        const end = line.endsWith("{") || i + 1 === lines.length || lines[i + 1]?.startsWith("}") ? "" : ",";
        return put(line, placeholders) + end;
      })
      .join("");
  },
};

/** A comment to stand behind what it is about: ended by its line, or, when it has several, by its own end. */
function describeBriefly({ description = "", ...documentation }: Documentation): string[] {
  const facts: string[] = [];
  if (documentation.default !== undefined && !/default/i.test(description))
    facts.push(`= ${documentation.default}`);
  if (documentation.format !== undefined && !description.toLowerCase().includes(documentation.format))
    facts.push(documentation.format);
  if (documentation.deprecated) facts.push("@deprecated");
  return trailingComment([description.trim(), ...facts].filter((each) => each !== "").join(" "));
}

/** A comment that ends with its line, or, when it has several, by its own end. No directive can be made of it. */
export function trailingComment(text: string): string[] {
  const lines = commentLines(
    text
      .trim()
      .replace(/[ \t]+/g, " ")
      .replaceAll("\n ", "\n"),
  );
  const [first = ""] = lines;
  if (lines.length > 1) return `/* ${lines.join("\n")}*/`.split("\n");
  if (first === "") return [];
  return [`// ${first}`];
}

/** The lines of a skeleton, each with the comment on the property that begins there. */
function readLines(
  skeleton: string,
  { comments }: Placeholders,
): { text: string; comment: readonly string[] }[] {
  return simplify(skeleton.replace(LIBRARY_COMMENT, ""))
    .split("\n")
    .map((text) => {
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

/** Takes brackets off that surround a whole type, and puts objects of an index signature alone on one line. */
function simplify(skeleton: string): string {
  const text = skeleton.replace(/\{\n(\[k: string\]: [^\n{}]*)\n\}/g, "{ $1 }");
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
