import { compile, type Options } from "json-schema-to-typescript";
import { blockComment, commentLines, propertyName, quoteString } from "./escape.ts";
import type { Documentation, TypeNode } from "./type-model.ts";

/**
 * Types as TypeScript text, printed by json-schema-to-typescript. No text of a server ever reaches that library: names,
 * values and descriptions go in as numbered placeholders and are put, escaped, in their places afterwards.
 */

export interface PrintRequest {
  type: TypeNode;
  documentation: Documentation;
  /** Type names by the names of the definitions that `type` refers to. */
  names: ReadonlyMap<string, string>;
  /** How `any` is written: what a program receives is `any`, what it passes is `unknown`. */
  any: "any" | "unknown";
}

/** A declaration's type, on one or more lines, and the lines of its comment. */
export interface PrintedType {
  text: string;
  comment: string[];
}

type Schema = NonNullable<Parameters<typeof compile>[0]>;

const PLACEHOLDER = /"?ptc\$([pst])(\d+)"?/g;
const OPTIONS: Partial<Options> = {
  $refOptions: { resolve: { external: false, file: false, http: false } },
  additionalProperties: false,
  bannerComment: "",
  cwd: "/",
  format: false,
};

/** Names that every object has: an optional property of such a name is compared with what is inherited. */
const INHERITED = new Set(Object.getOwnPropertyNames(Object.prototype));

export async function printType(request: PrintRequest): Promise<PrintedType> {
  const skeleton = new Skeleton(request);
  const schema = skeleton.schemaOf(request.type);
  const source = await compile(
    { type: "object", properties: { ptc$root: schema }, required: ["ptc$root"], additionalProperties: false },
    "Root",
    { ...OPTIONS, unknownAny: request.any === "unknown" },
  );
  const start = source.indexOf("ptc$root: ");
  const end = source.lastIndexOf("\n}");
  if (start < 0 || end < start)
    throw new Error("json-schema-to-typescript printed an unexpected declaration");
  return {
    text: skeleton.fill(source.slice(start + "ptc$root: ".length, end)),
    comment: printDocumentation(request.documentation),
  };
}

/** The comment of a property or a type. */
function printDocumentation(documentation: Documentation): string[] {
  const facts: string[] = [];
  if (documentation.default !== undefined) facts.push(...defaultFact(documentation));
  if (documentation.format !== undefined) facts.push(`@format ${documentation.format}`);
  if (documentation.deprecated) facts.push("@deprecated");
  return blockComment(documentation.description ?? "", facts);
}

function defaultFact({ default: value = "", description = "" }: Documentation): string[] {
  return /default/i.test(description) ? [] : commentLines(value).map((line) => `@default ${line}`);
}

/** One type with placeholders for everything that a server wrote. */
class Skeleton {
  readonly #request: PrintRequest;
  readonly #texts: string[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #comments: string[][] = [];

  constructor(request: PrintRequest) {
    this.#request = request;
  }

  schemaOf(type: TypeNode): Schema {
    switch (type.kind) {
      case "any":
        return { type: "any" };
      case "never":
        return this.#placeholder("never");
      case "string":
      case "number":
      case "boolean":
      case "null":
        return { type: type.kind };
      case "literal":
        return this.#placeholder(printLiteral(type.value));
      case "reference":
        return this.#placeholder(this.#request.names.get(type.name) ?? this.#request.any);
      case "array":
        return { type: "array", items: this.schemaOf(type.items) };
      case "tuple":
        return this.#tuple(type);
      case "union":
        return { anyOf: type.members.map((each) => this.schemaOf(each)) };
      case "intersection":
        return { allOf: type.members.map((each) => this.schemaOf(each)) };
      case "object":
        return this.#object(type);
    }
  }

  /** Every length that the tuple may have, as a tuple of its own: the library does not bracket the union it makes. */
  #tuple(type: Extract<TypeNode, { kind: "tuple" }>): Schema {
    const items = type.items.map((each) => this.schemaOf(each));
    const rest = type.rest === undefined ? false : this.schemaOf(type.rest);
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

  #object(type: Extract<TypeNode, { kind: "object" }>): Schema {
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    for (const property of type.properties) {
      const key = `ptc$p${this.#index(propertyName(property.name))}`;
      const inherits = !property.required && INHERITED.has(property.name);
      const schema = this.schemaOf(inherits ? { kind: "any" } : property.type);
      const comment = printDocumentation(property.documentation);
      properties[key] = comment.length === 0 ? schema : { ...schema, description: this.#comment(comment) };
      if (property.required) required.push(key);
    }
    const additionalProperties = type.rest === undefined ? false : this.schemaOf(type.rest);
    return { type: "object", properties, required, additionalProperties };
  }

  /** A type that the library takes for one string. */
  #placeholder(text: string): Schema {
    return { enum: [`ptc$t${this.#index(text)}`] };
  }

  #comment(lines: string[]): string {
    this.#comments.push(lines);
    return `ptc$d${this.#comments.length - 1}`;
  }

  #index(text: string): number {
    const known = this.#indexes.get(text);
    if (known !== undefined) return known;
    this.#texts.push(text);
    this.#indexes.set(text, this.#texts.length - 1);
    return this.#texts.length - 1;
  }

  /** Lays the printed skeleton out and puts the texts in their places. */
  fill(source: string): string {
    const lines: string[] = [];
    let depth = 0;
    let inComment = false;
    for (const line of simplify(source).split("\n")) {
      if (line.startsWith("/**")) inComment = true;
      if (inComment) {
        const index = /ptc\$d(\d+)/.exec(line)?.[1];
        if (index !== undefined) {
          for (const each of this.#comments[Number(index)] ?? []) lines.push("  ".repeat(depth) + each);
        }
        if (line.endsWith("*/")) inComment = false;
        continue;
      }
      const leading = line.startsWith("}") ? 1 : 0;
      const indent = "  ".repeat(depth - leading);
      depth += count(line, "{") - count(line, "}");
      const end = depth > 0 && !line.endsWith("{") ? ";" : "";
      lines.push(indent + this.#put(line) + end);
    }
    return lines.join("\n").replace(/\{\n\s*\}/g, "{}");
  }

  #put(line: string): string {
    return line
      .replace(/\(("ptc\$t\d+"|\w+)\)\[\]/g, "$1[]")
      .replace(PLACEHOLDER, (_match, _kind: string, index: string) => this.#texts[Number(index)] ?? "never");
  }
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

function printLiteral(value: string | number | boolean): string {
  return typeof value === "string" ? quoteString(value) : String(value);
}

function count(text: string, character: string): number {
  let n = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) n++;
  return n;
}
