/**
 * Turns the schemas of a description into self-contained JSON Schemas: referenced schemas are put into `$defs`, where cycles stay
 * cycles. A schema is read in one of two directions (OpenAPI 3.1, "Schema Object"): sent values have no read-only members, received
 * ones have no write-only members.
 *
 * A definition is written once for all operations, with its size and what it refers to. What an operation keeps of them is then a
 * choice by these numbers, so that many operations that lead to the same types cost little more than one.
 */
import { isObject, writeJson } from "../../base/json.ts";
import { decodePointer, type References } from "./description.ts";

export type Direction = "sent" | "received";

type Schema = Record<string, unknown>;

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

/** A referenced schema, as it stands in `$defs`. */
interface Definition {
  readonly name: string;
  readonly written: unknown;
  /** As it is printed: its name and itself, in bytes. */
  readonly bytes: number;
  /** Whether a part of it accepts anything, since it is too large by itself. */
  readonly isCut: boolean;
  /** The names of the definitions that it refers to. */
  readonly refersTo: readonly string[];
  /** As `countDeclarations` counts them, with the members of its own and without. */
  readonly declarations: { readonly first: number; readonly again: number };
}

/** A schema of a tool with the names of its definitions. */
export interface ChosenSchema {
  readonly schema: unknown;
  readonly kept: readonly string[];
  /** Those that accept anything. */
  readonly stubs: readonly string[];
  readonly isCut: boolean;
  /** As it is printed, in bytes. */
  readonly bytes: number;
  readonly declarations: number;
}

/** The schemas of one direction. */
export class SchemaLibrary {
  readonly #references: References;
  readonly #direction: Direction;
  /** Names of definitions, by reference. */
  readonly #names = new Map<string, string>();
  readonly #targets = new Map<string, unknown>();
  readonly #written = new Map<string, unknown>();
  /** In the size in which schemas are now. */
  readonly #definitions = new Map<string, Definition>();
  #maxBytes = 0;

  constructor(references: References, direction: Direction) {
    this.#references = references;
    this.#direction = direction;
  }

  /** Converts a schema of the description; its references lead into `$defs`. */
  write(schema: unknown, depth = 0): unknown {
    if (typeof schema === "boolean") return schema;
    if (!isObject(schema) || depth > MAX_DEPTH) return {};
    if (typeof schema.$ref === "string") return this.#refer(schema.$ref, schema, depth);
    return this.#object(schema, depth);
  }

  /**
   * Chooses the definitions of a written schema, the nearest first, so that all is printed in so many bytes. Those that do not fit
   * accept anything, and so do the inner parts of a schema that is larger by itself.
   *
   * @param known the names of the definitions that earlier schemas have, to which it adds. Their members are declared once.
   */
  choose(schema: unknown, maxBytes: number, known: Set<string>): ChosenSchema {
    if (maxBytes !== this.#maxBytes) this.#definitions.clear();
    this.#maxBytes = maxBytes;
    const root = within(schema, maxBytes);
    let { isCut } = root;
    let bytes = root.bytes;
    let declarations = declarationsIn(root.schema, true);
    const found = new Set<string>();
    const kept: string[] = [];
    const stubs: string[] = [];
    const find = (names: readonly string[]) => {
      for (const name of names)
        if (!found.has(name)) {
          found.add(name);
          bytes += stubBytes(name);
        }
    };
    // Its own references always have a target.
    const names = namesIn(root.schema);
    if (names.length > 0) bytes += DEFS_BYTES;
    find(names);
    for (const name of found) {
      const definition = this.definition(name);
      const news = definition.refersTo.filter((each) => !found.has(each));
      const more = definition.bytes - stubBytes(name) + news.reduce((sum, each) => sum + stubBytes(each), 0);
      if (bytes + more > maxBytes) {
        isCut = true;
        stubs.push(name);
        continue;
      }
      bytes += definition.bytes - stubBytes(name);
      kept.push(name);
      isCut ||= definition.isCut;
      declarations += 1 + definition.declarations[known.has(name) ? "again" : "first"];
      known.add(name);
      find(definition.refersTo);
    }
    declarations += stubs.length;
    return { schema: root.schema, kept, stubs, isCut, bytes, declarations };
  }

  /** A definition by its name, which a written schema has, in the size of the schemas that were chosen last. */
  definition(name: string): Definition {
    const known = this.#definitions.get(name);
    if (known !== undefined) return known;
    if (!this.#written.has(name)) this.#written.set(name, this.write(this.#targets.get(name)));
    // A schema that is nothing but a reference to it has room for it.
    const maxBytes = this.#maxBytes - Math.min(1_024, this.#maxBytes / 8);
    const { schema: written, bytes, isCut } = within(this.#written.get(name), maxBytes);
    const definition: Definition = {
      name,
      written,
      isCut,
      bytes: stubBytes(name) - 2 + bytes,
      refersTo: namesIn(written),
      declarations: { first: declarationsIn(written, true), again: declarationsIn(written, false) },
    };
    this.#definitions.set(name, definition);
    return definition;
  }

  /** Whether a member is left out in this direction. */
  isLeftOut(member: unknown): boolean {
    const found = this.#references.resolve(member);
    return found?.[this.#direction === "sent" ? "readOnly" : "writeOnly"] === true;
  }

  #refer(reference: string, beside: Schema, depth: number): unknown {
    const { $ref: _, ...rest } = beside;
    const others = this.#object(rest, depth);
    const name = this.#names.get(reference) ?? this.#nameFor(reference);
    // Nothing is known about a target that is elsewhere or missing.
    if (name === undefined) return others;
    const link = { $ref: `${DEFS}${name}` };
    return Object.keys(others).length === 0 ? link : { ...link, ...others };
  }

  #nameFor(reference: string): string | undefined {
    const target = this.#references.at(reference);
    if (!isObject(target) && typeof target !== "boolean") return undefined;
    const parts = reference.split("/").slice(1).map(decodePointer);
    const isNamed = parts.length <= 3 && /^(schemas|definitions)$/.test(parts.at(-2) ?? "");
    // What has no name is called by its place, whatever else there is.
    const place = isNamed ? (parts.at(-1) ?? "") : parts.filter((part) => part !== "components").join("_");
    const plain = place.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(-100) || "schema";
    let name = plain;
    for (let n = 2; this.#targets.has(name); n++) name = `${plain}_${n}`;
    this.#names.set(reference, name);
    // It is written later, because it may lead far, or back here.
    this.#targets.set(name, target);
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
    const isNullable = schema.nullable === true;
    const valued = enumOrNull(written, isNullable);
    return isNullable ? orNull(valued) : valued;
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
  if (typeof schema.type === "string") return { ...schema, type: [schema.type, "null"] };
  return schema.type === undefined && Array.isArray(schema.enum)
    ? schema
    : { anyOf: [schema, { type: "null" }] };
}

/** The values of a list that a type with null goes with: null is one of them (OpenAPI 3.0.3, "Proposal: Clarify Nullable"). */
function enumOrNull(schema: Schema, isNullable: boolean): Schema {
  const { type, enum: values } = schema;
  const mayBeNull = isNullable || (Array.isArray(type) && type.includes("null"));
  return mayBeNull && Array.isArray(values) && !values.includes(null)
    ? { ...schema, enum: [...values, null] }
    : schema;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

const DEFS = "#/$defs/";
/** `,"$defs":{}` */
const DEFS_BYTES = 11;

/** A chosen schema with its definitions. */
export function assembleSchema(
  { schema, kept, stubs }: Pick<ChosenSchema, "schema" | "kept" | "stubs">,
  definitions: ReadonlyMap<string, unknown>,
): unknown {
  if (kept.length + stubs.length === 0) return schema;
  const shown = (each: unknown) => (stubs.length === 0 ? each : loosened(each));
  const $defs = new Map<string, unknown>();
  for (const name of kept) $defs.set(name, shown(definitions.get(name) ?? {}));
  for (const name of stubs) $defs.set(name, {});
  const root = shown(schema);
  return { ...(isObject(root) ? root : { allOf: [root] }), $defs: Object.fromEntries($defs) };
}

/** By the schema that they are made of, since many operations share one. */
const loose = new WeakMap<object, unknown>();

/**
 * A schema for where a part of it, or of what it refers to, accepts anything. What holds of such a part alone is left out: that only
 * one of several fits, or that something does not.
 */
function loosened(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const known = loose.get(schema);
  if (known !== undefined) return known;
  const { not: _, if: __, then: ___, else: ____, contains: _____, ...rest } = schema;
  const copy = shallow(rest);
  const inner = [...innerOf(rest)];
  for (const [index, [, replace]] of [...innerOf(copy)].entries()) replace(loosened(inner[index]?.[0]));
  for (const key of ["minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems"])
    delete copy[key];
  const { oneOf, ...others } = copy;
  const made =
    oneOf === undefined
      ? copy
      : others.anyOf === undefined
        ? { ...others, anyOf: oneOf }
        : { ...others, allOf: [...listOf(others.allOf), { anyOf: oneOf }] };
  loose.set(schema, made);
  return made;
}

/** `"NAME":{},` */
function stubBytes(name: string): number {
  return name.length + 6;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(writeJson(value) ?? "");
}

/** The schemas right in a schema, each with what puts another in its place. */
function* innerOf(schema: Schema): Generator<[inner: unknown, replace: (by: unknown) => void]> {
  for (const [key, value] of Object.entries(schema)) {
    if (ONE.has(key)) yield [value, (by) => (schema[key] = by)];
    else if (LISTS.has(key) && Array.isArray(value))
      for (const [index, each] of value.entries()) yield [each, (by) => (value[index] = by)];
    else if (NAMED.has(key) && isObject(value))
      for (const [name, each] of Object.entries(value))
        yield [
          each,
          (by) =>
            Object.defineProperty(value, name, {
              value: by,
              enumerable: true,
              configurable: true,
              writable: true,
            }),
        ];
  }
}

/** The names of the definitions that a written schema refers to, the nearest first. */
function namesIn(schema: unknown): string[] {
  const names = new Set<string>();
  const nodes = [schema];
  for (const node of nodes) {
    if (!isObject(node)) continue;
    if (typeof node.$ref === "string") names.add(node.$ref.slice(DEFS.length));
    for (const [inner] of innerOf(node)) nodes.push(inner);
  }
  return [...names];
}

/**
 * A written schema in at most so many bytes: the parts farthest from its root accept anything, and a part whose own words are too many
 * says its type alone.
 */
function within(schema: unknown, maxBytes: number): { schema: unknown; bytes: number; isCut: boolean } {
  const whole = bytesOf(schema);
  if (whole <= maxBytes || !isObject(schema)) return { schema, bytes: whole, isCut: false };
  let bytes = 2;
  let kept: unknown = {};
  const nodes: [node: unknown, place: (kept: unknown) => void][] = [
    [
      schema,
      (root) => {
        kept = root;
      },
    ],
  ];
  for (const [node, place] of nodes) {
    if (!isObject(node)) {
      place(node);
      bytes += 3;
      continue;
    }
    const own = shallow(node);
    const words = [
      own,
      withoutWords(own),
      isObject(own.properties) ? undefined : typeOnly(own),
      typeOnly(own),
    ];
    const chosen = words.find((each) => each !== undefined && bytes + bytesOf(each) - 2 <= maxBytes);
    if (chosen === undefined) continue;
    bytes += bytesOf(chosen) - 2;
    place(chosen);
    if (chosen === words[2] || chosen === words[3]) continue;
    const places = [...innerOf(chosen)].map(([, replace]) => replace);
    for (const [index, [inner]] of [...innerOf(node)].entries()) {
      const replace = places[index];
      if (replace !== undefined) nodes.push([inner, replace]);
    }
  }
  const written = loosened(kept);
  return { schema: written, bytes: bytesOf(written), isCut: true };
}

/** A copy whose inner schemas accept anything. */
function shallow(schema: Schema): Schema {
  const copy: Schema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (ONE.has(key)) copy[key] = {};
    else if (LISTS.has(key)) copy[key] = listOf(value).map(() => ({}));
    else if (NAMED.has(key) && isObject(value))
      copy[key] = Object.fromEntries(Object.keys(value).map((name) => [name, {}]));
    else copy[key] = value;
  }
  return copy;
}

/** Without what may be long and says little of the type. */
function withoutWords({
  enum: _,
  const: __,
  default: ___,
  description: ____,
  pattern: _____,
  title: ______,
  ...rest
}: Schema): Schema {
  return rest;
}

/** The least that is said of a type. What else there is would not hold without the rest. */
function typeOnly({ type, enum: values, $ref }: Schema): Schema {
  if (typeof $ref === "string") return { $ref };
  if (typeof type === "string" && type.length < 20) return { type };
  const isText = Array.isArray(values) && values.every((each) => typeof each === "string");
  return isText ? { type: "string" } : {};
}

/**
 * About how many declarations the module of a schema has, without those of its definitions: one for each object type, and one for each
 * member of a type that no earlier schema has.
 */
function declarationsIn(schema: unknown, countsMembers: boolean): number {
  let count = 0;
  const nodes = [schema];
  for (const node of nodes) {
    if (!isObject(node)) continue;
    for (const [key, value] of Object.entries(node))
      if (NAMED.has(key) && isObject(value)) count += 1 + (countsMembers ? Object.keys(value).length : 0);
    for (const [inner] of innerOf(node)) nodes.push(inner);
  }
  return count;
}
