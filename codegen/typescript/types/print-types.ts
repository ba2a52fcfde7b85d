import type { compile, Options } from "json-schema-to-typescript";
import type { Documentation, Property, TypeNode } from "../../../catalog/model/type-model.ts";
import { propertyName, quoteString } from "../../escape.ts";
import type { Placeholders, TypeLayout } from "./type-layout.ts";

/**
 * Types as TypeScript text, printed by json-schema-to-typescript. No text of a server ever reaches that library: names,
 * values and descriptions go in as numbered placeholders and are put, escaped, in their places by a layout afterwards.
 */

export interface PrintRequest {
  type: TypeNode;
  /** Type names by the names of the definitions that `type` refers to. */
  names: ReadonlyMap<string, string>;
  /** How `any` is written: what a program receives is `any`, what it passes is `unknown`. */
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

/** Names that every object inherits. TypeScript compares an optional property of such a name with the inherited one. */
const INHERITED = new Set(Object.getOwnPropertyNames(Object.prototype));

/** Whether a part of a type is printed differently for what a program passes and for what it receives. */
export function dependsOnSide(type: TypeNode): boolean {
  return type.kind === "any" || (type.kind === "object" && type.properties.some(inherits));
}

function inherits({ required, name }: Property): boolean {
  return !required && INHERITED.has(name);
}

/** Prints types, in their order. All are passed to the library together, because each call of it is slow. */
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
    // At this point the text holds only the library's words and placeholders, so no text of a server is changed.
    const text = (printed[i] ?? "").trimEnd().replace(/\bunknown\b/g, any);
    return layout.fill(text, skeleton);
  });
}

/** Types with placeholders for everything that a server wrote. */
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

  /** Prints each possible length as a tuple of its own, because the library does not bracket the union that it makes. */
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

  /** A schema that the library prints as one string literal, which is replaced afterwards. */
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
