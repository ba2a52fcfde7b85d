import type { compile, Options } from "json-schema-to-typescript";
import { NameAllocator, pascalCase } from "../../catalog/identifiers.ts";
import type { Documentation, Property, TypeModel, TypeNode } from "../../catalog/model/type-model.ts";
import type { ToolModel } from "../../catalog/tool-model.ts";
import { byCodeUnit } from "../../protocol/canonical-json.ts";
import { blockComment, commentLines, propertyName, quoteString } from "../escape.ts";

/**
 * Prints types as TypeScript with json-schema-to-typescript. No text of a server ever reaches that library: it gets numbered
 * placeholders for names, values and descriptions, which a layout replaces by escaped text afterwards.
 */

export interface PrintRequest {
  type: TypeNode;
  /** Type names by the names of the definitions that `type` refers to. */
  names: ReadonlyMap<string, string>;
  /** The word for `any`: values that a program receives are `any`, and values that it passes are `unknown`. */
  any: "any" | "unknown";
}

type Schema = NonNullable<Parameters<typeof compile>[0]>;

const ROOT = /^ptc\$root\d+: /m;
const OPTIONS: Partial<Options> = {
  $refOptions: { resolve: { external: false, file: false, http: false } },
  additionalProperties: false,
  bannerComment: "",
  cwd: "/",
  format: false,
  unknownAny: true,
};

/** Names that every object inherits. TypeScript compares an optional property with the inherited property of that name. */
const INHERITED = new Set(Object.getOwnPropertyNames(Object.prototype));

/** Whether a part of a type is printed differently for values that a program passes and receives. */
export function dependsOnSide(type: TypeNode): boolean {
  return type.kind === "any" || (type.kind === "object" && type.properties.some(inherits));
}

function inherits({ required, name }: Property): boolean {
  return !required && INHERITED.has(name);
}

/** Prints types in order. Passes all of them to the library together, because each call is slow. */
export async function printTypes(requests: readonly PrintRequest[], layout: TypeLayout): Promise<string[]> {
  if (requests.length === 0) return [];
  const skeleton = new Skeleton(layout);
  const properties: Record<string, Schema> = {};
  requests.forEach((request, i) => {
    properties[`ptc$root${i}`] = skeleton.schemaOf(request.type, request);
  });
  const required = Object.keys(properties);
  // Loaded on first use, because loading takes longer than most commands.
  const library = await import("json-schema-to-typescript");
  const source = await library.compile(
    { type: "object", properties, required, additionalProperties: false },
    "Root",
    OPTIONS,
  );
  const [, ...printed] = source.slice(0, source.lastIndexOf("\n}")).split(ROOT);
  if (printed.length !== requests.length)
    throw new Error("json-schema-to-typescript printed an unexpected declaration");
  return requests.map(({ any }, i) => {
    // At this point the text consists of the library's words and placeholders, so this changes no text of a server.
    const text = (printed[i] ?? "").trimEnd().replace(/\bunknown\b/g, any);
    return layout.fill(text, skeleton);
  });
}

/** Builds types with placeholders for all text of a server. */
class Skeleton implements Placeholders {
  readonly #describe: (documentation: Documentation) => string[];
  readonly #indexes = new Map<string, number>();
  /** Equal schemas must be one object, because the library processes each object once. */
  readonly #atoms = new Map<string, Schema>();
  readonly texts: string[] = [];
  readonly comments: string[][] = [];

  constructor(layout: TypeLayout) {
    this.#describe = layout.describe;
  }

  schemaOf(type: TypeNode, request: PrintRequest): Schema {
    switch (type.kind) {
      case "never":
        return this.#placeholder("never");
      case "any":
      case "string":
      case "number":
      case "boolean":
      case "null":
        return this.#atom(type.kind, { type: type.kind });
      case "literal":
        return this.#placeholder(
          typeof type.value === "string" ? quoteString(type.value) : String(type.value),
        );
      case "reference":
        return this.#placeholder(request.names.get(type.name) ?? request.any);
      case "array":
        return { type: "array", items: this.schemaOf(type.items, request) };
      case "tuple":
        return this.#tuple(type, request);
      case "union":
        return { anyOf: type.members.map((each) => this.schemaOf(each, request)) };
      case "intersection":
        return { allOf: type.members.map((each) => this.schemaOf(each, request)) };
      case "object":
        return this.#object(type, request);
    }
  }

  /** Prints each possible length as a separate tuple, because the library does not bracket its union of lengths. */
  #tuple(type: Extract<TypeNode, { kind: "tuple" }>, request: PrintRequest): Schema {
    const items = type.items.map((each) => this.schemaOf(each, request));
    const rest = type.rest === undefined ? false : this.schemaOf(type.rest, request);
    const lengths: Schema[] = [];
    for (let length = type.minItems; length <= items.length; length++) {
      lengths.push({
        type: "array",
        items: items.slice(0, length),
        minItems: length,
        additionalItems: length === items.length ? rest : false,
      });
    }
    return lengths.length === 1 && lengths[0] !== undefined ? lengths[0] : { anyOf: lengths };
  }

  #object(type: Extract<TypeNode, { kind: "object" }>, request: PrintRequest): Schema {
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    for (const property of type.properties) {
      const comment = this.#describe(property.documentation);
      const about = comment.length === 0 ? "" : `d${this.comments.push(comment) - 1}`;
      const key = `ptc$p${this.#index(propertyName(property.name))}${about}`;
      properties[key] = this.schemaOf(inherits(property) ? { kind: "any" } : property.type, request);
      if (property.required) required.push(key);
    }
    const additionalProperties = type.rest === undefined ? false : this.schemaOf(type.rest, request);
    return { type: "object", properties, required, additionalProperties };
  }

  /** A schema that the library prints as one string literal, which the layout replaces. */
  #placeholder(text: string): Schema {
    const name = `ptc$t${this.#index(text)}`;
    return this.#atom(name, { enum: [name] });
  }

  #atom(key: string, schema: Schema): Schema {
    const known = this.#atoms.get(key);
    if (known === undefined) this.#atoms.set(key, schema);
    return known ?? schema;
  }

  #index(text: string): number {
    const known = this.#indexes.get(text);
    if (known !== undefined) return known;
    this.texts.push(text);
    this.#indexes.set(text, this.texts.length - 1);
    return this.texts.length - 1;
  }
}

/** The least number of optional properties for which a group is shorter, without and with required ones. */
const MIN_ALONE = 4;
const MIN_BESIDE = 5;

/**
 * Rewrites objects with many optional properties as `{required}&Partial<{optional}>`, with one word for all instead of a mark on
 * each. Takes and returns a skeleton with one property on each line.
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

/** The texts that replace placeholders. */
interface Placeholders {
  /** Source text by number: `ptc$p7` is a property's name, and `"ptc$t7"` is a type. */
  texts: readonly string[];
  /** Lines by number: `ptc$p7d3` is a property with comment 3. */
  comments: readonly (readonly string[])[];
}

/** A layout of types: as documentation, or in as few tokens as possible. */
export interface TypeLayout {
  /** The lines of a comment on a property or a type, which may be none. */
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

/** For a list of many tools: only types, on one line. */
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

/** The text after a property: its default as for a parameter, its format, and its description. */
function describeBriefly({ description = "", ...documentation }: Documentation): string[] {
  const facts: string[] = [];
  if (documentation.default !== undefined && !/default/i.test(description))
    facts.push(`= ${documentation.default}`);
  if (documentation.format !== undefined && !description.toLowerCase().includes(documentation.format))
    facts.push(`(${documentation.format})`);
  if (documentation.deprecated) facts.push("(deprecated)");
  return briefLines([...facts, description.trim()].filter((each) => each !== "").join(" "));
}

/** The lines of a text without unnecessary white space. Empty for an empty text. A wrapped paragraph becomes one line. */
export function briefLines(text: string): string[] {
  const brief = commentLines(text.trim())
    .join("\n")
    .replace(/[ \t]+/g, " ")
    .replaceAll("\n ", "\n")
    .replace(WRAPPED, " ");
  return brief === "" ? [] : brief.split("\n");
}

/** Matches line ends to remove: after a long line that continues in lower case, and before a last line about items. */
const WRAPPED = /(?<=[^\n]{50})\n(?=[a-z(])|\n(?=(?:Items|Values): [^\n]*$)/g;

/** Renders lines as a comment: one line as `// ...`, and several as a block. */
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

/** Matches the only comments that the library writes here, which repeat the lengths of a tuple. */
const LIBRARY_COMMENT = /^\/\*\*\n(?: \*.*\n)*? \*\/\n/gm;

const PLACEHOLDER = /"?ptc\$[pt](\d+)(?:d\d+)?"?/g;

function put(line: string, { texts }: Placeholders): string {
  return line
    .replace(/\(("ptc\$t\d+"|\w+)\)\[\]/g, "$1[]")
    .replace(PLACEHOLDER, (_match, index: string) => texts[Number(index)] ?? "never");
}

/** Renders a line of a skeleton in as few tokens as possible. None of its spaces separates words. */
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

/** Matches a nested object without described properties and without properties of several lines. */
const UNDESCRIBED = /(?<!^)\{\n((?:(?!ptc\$p\d+d|\})[^\n]*(?<!\{)\n)+)\}/g;
const MAX_JOINED_CHARS = 240;

/** Removes brackets around a whole type, and puts an object with only an index signature on one line. */
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

/** The names of one tool's types: keys are `input`, `output` and `<role> <definition>`. */
export type TypeNames = ReadonlyMap<string, string>;

/** The type names of a module, tool by tool. */
export function nameTypes(tools: readonly ToolModel[]): Map<ToolModel, TypeNames> {
  const allocator = new NameAllocator(tools.map((tool) => tool.identifier));
  const names = new Map<ToolModel, Map<string, string>>(tools.map((tool) => [tool, new Map()]));
  const allocate = (tool: ToolModel, key: string, suffix: string): void => {
    const wanted = pascalCase(tool.identifier) + suffix;
    names.get(tool)?.set(key, allocator.allocate(wanted, `${tool.definition.name} ${key}`));
  };
  for (const tool of tools) {
    allocate(tool, "input", "Input");
    if (tool.output !== undefined) allocate(tool, "output", "Output");
  }
  for (const tool of tools) {
    const own = names.get(tool) ?? new Map<string, string>();
    nameDefinitions(tool, own, (key, name) => allocate(tool, key, pascalCase(name)));
  }
  return names;
}

/** The type names of a single tool, as short as possible. */
export function nameTypesBriefly(tool: ToolModel): TypeNames {
  const allocator = new NameAllocator(["Promise"]);
  const names = new Map<string, string>();
  const allocate = (key: string, wanted: string): void => {
    names.set(key, allocator.allocate(wanted, key));
  };
  allocate("input", "Input");
  if (tool.output !== undefined) allocate("output", "Output");
  nameDefinitions(tool, names, (key, name) => allocate(key, pascalCase(name)));
  return names;
}

/** Maps the names of a model's definitions in the schema to type names. */
export function definitionNames(model: TypeModel, role: "input" | "output", names: TypeNames) {
  return new Map(
    [...model.definitions.keys()].map((name) => [name, names.get(`${role} ${name}`) ?? "never"]),
  );
}

function nameDefinitions(
  tool: ToolModel,
  own: Map<string, string>,
  allocate: (key: string, name: string) => void,
): void {
  for (const role of ["input", "output"] as const) {
    const model = tool[role];
    if (model === undefined) continue;
    const root = model.root.kind === "reference" ? model.root.name : undefined;
    for (const name of [...model.definitions.keys()].sort(byCodeUnit)) {
      // A root that is a reference, and the definition it refers to, are one type with one name.
      if (name === root) own.set(`${role} ${name}`, own.get(role) ?? "never");
      else allocate(`${role} ${name}`, name);
    }
  }
}
