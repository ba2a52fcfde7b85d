/**
 * Turns the schemas of a description into self-contained JSON Schemas: referenced schemas are put into `$defs`, where cycles stay
 * cycles. A schema is read in one of two directions (OpenAPI 3.1, "Schema Object"): sent values have no read-only members, received
 * ones have no write-only members.
 */
import { isObject, writeJson } from "../../base/json.ts";
import { decodePointer, type References } from "./description.ts";

export type Direction = "sent" | "received";

type Schema = Record<string, unknown>;

/** The maximum number of definitions in one schema. Further ones accept anything. */
const MAX_DEFINITIONS = 5_000;
const MAX_DEPTH = 200;

/** Keywords with a schema, with a list of schemas, with schemas by name, and with plain values. All others are left out. */
const ONE = new Set([
  ...[
    "items",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "not",
    "contains",
    "propertyNames",
  ],
  ...["if", "then", "else"],
]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const NAMED = new Set(["properties", "patternProperties", "dependentSchemas"]);
const PLAIN = new Set([
  ...[
    "type",
    "enum",
    "const",
    "default",
    "title",
    "description",
    "deprecated",
    "format",
    "pattern",
    "required",
  ],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"],
  ...["minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties"],
  ...["dependentRequired", "contentEncoding", "contentMediaType"],
]);

/** Turns the schemas of one tool's input or output into one JSON Schema. */
export class SchemaWriter {
  /** Whether some types accept anything, because there would be too many types. */
  isCut = false;
  readonly #references: References;
  readonly #direction: Direction;
  readonly #maxChars: number;
  readonly #names = new Map<string, string>();
  /** Definitions with a name but no content yet. */
  readonly #unread: [name: string, schema: unknown][] = [];
  readonly #definitions: Record<string, unknown> = Object.create(null) as Record<string, unknown>;

  /** @param maxChars the maximum size of the schema in characters. The types farthest from its root accept anything beyond it. */
  constructor(references: References, direction: Direction, maxChars: number) {
    this.#references = references;
    this.#direction = direction;
    this.#maxChars = maxChars;
  }

  /** Converts a schema of the description; its references lead into `$defs`. */
  write(schema: unknown, depth = 0): unknown {
    if (typeof schema === "boolean") return schema;
    if (!isObject(schema) || depth > MAX_DEPTH) return {};
    if (typeof schema.$ref === "string") return this.#refer(schema.$ref, schema, depth);
    return this.#object(schema, depth);
  }

  /** A schema with everything that it refers to. */
  whole(schema: unknown): unknown {
    // The nearest come first, because each adds others to the end.
    let chars = writeJson(schema).length;
    for (const [name, content] of this.#unread) {
      if (chars >= this.#maxChars) {
        this.isCut = true;
        break;
      }
      const written = this.write(content);
      chars += writeJson(written).length;
      this.#definitions[name] = written;
    }
    const names = Object.keys(this.#definitions);
    if (names.length === 0) return schema;
    return { ...(isObject(schema) ? schema : { allOf: [schema] }), $defs: { ...this.#definitions } };
  }

  /** Whether a member is left out in this direction. */
  isLeftOut(member: unknown): boolean {
    const found = this.#references.resolve(member);
    return found?.[this.#direction === "sent" ? "readOnly" : "writeOnly"] === true;
  }

  #refer(reference: string, beside: Schema, depth: number): unknown {
    const known = this.#names.get(reference);
    const { $ref: _, ...rest } = beside;
    const others = this.#object(rest, depth);
    const isAlone = Object.keys(others).length === 0;
    const link = (name: string) => ({ $ref: `#/$defs/${name.replaceAll("~", "~0").replaceAll("/", "~1")}` });
    const found = known === undefined ? this.#references.at(reference) : undefined;
    // Nothing is known about a target that is elsewhere or missing.
    if (known === undefined && !isObject(found) && typeof found !== "boolean") return others;
    if (known === undefined && this.#names.size >= MAX_DEFINITIONS) return others;
    const name = known ?? this.#nameFor(reference);
    if (known === undefined) {
      this.#names.set(reference, name);
      // It is read later, because it may lead far, or back here.
      this.#definitions[name] = {};
      this.#unread.push([name, found]);
    }
    return isAlone ? link(name) : { ...link(name), ...others };
  }

  #nameFor(reference: string): string {
    const last = decodePointer(reference.split("/").at(-1) ?? "");
    const plain = last.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, 100) || "schema";
    let name = plain;
    for (let n = 2; Object.hasOwn(this.#definitions, name); n++) name = `${plain}_${n}`;
    return name;
  }

  #object(schema: Schema, depth: number): Schema {
    const written: Schema = {};
    for (const [key, value] of Object.entries(schema)) {
      if (ONE.has(key)) written[key] = this.write(value, depth + 1);
      else if (LISTS.has(key)) written[key] = listOf(value).map((each) => this.write(each, depth + 1));
      else if (NAMED.has(key)) written[key] = this.#members(value, depth);
      else if (PLAIN.has(key)) written[key] = value;
    }
    const leftOut = this.#namesLeftOut(schema.properties);
    if (Array.isArray(written.required) && leftOut.size > 0)
      written.required = written.required.filter((name) => !leftOut.has(name));
    return schema.nullable === true ? orNull(written) : written;
  }

  #members(value: unknown, depth: number): Schema {
    const written: Schema = {};
    if (!isObject(value)) return written;
    for (const [name, member] of Object.entries(value)) {
      if (this.isLeftOut(member)) continue;
      Object.defineProperty(written, name, {
        value: this.write(member, depth + 1),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return written;
  }

  #namesLeftOut(properties: unknown): Set<unknown> {
    if (!isObject(properties)) return new Set();
    return new Set(Object.keys(properties).filter((name) => this.isLeftOut(properties[name])));
  }
}

/** A schema that also accepts null (`nullable` of OpenAPI 3.0, if the conversion to 3.1 has left it). */
function orNull(schema: Schema): Schema {
  if (typeof schema.type === "string") {
    const enumOrNull =
      Array.isArray(schema.enum) && !schema.enum.includes(null) ? { enum: [...schema.enum, null] } : {};
    return { ...schema, type: [schema.type, "null"], ...enumOrNull };
  }
  return { anyOf: [schema, { type: "null" }] };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * About how many declarations the module of some schemas has: one for each object type and each definition, and one for each member
 * of a type that no earlier schema has.
 */
export function countDeclarations(schemas: Iterable<unknown>): number {
  const known = new Set<string>();
  let count = 0;
  const add = (schema: unknown, countsMembers: boolean): void => {
    if (Array.isArray(schema)) for (const each of schema) add(each, countsMembers);
    if (!isObject(schema)) return;
    for (const [key, value] of Object.entries(schema)) {
      if (ONE.has(key) || LISTS.has(key)) add(value, countsMembers);
      if (!NAMED.has(key) || !isObject(value)) continue;
      const members = Object.values(value);
      count += 1 + (countsMembers ? members.length : 0);
      for (const each of members) add(each, countsMembers);
    }
  };
  for (const schema of schemas) {
    if (!isObject(schema)) continue;
    add(schema, true);
    for (const definition of Object.values(isObject(schema.$defs) ? schema.$defs : {})) {
      const text = writeJson(definition);
      add(definition, !known.has(text));
      known.add(text);
      count++;
    }
  }
  return count;
}
