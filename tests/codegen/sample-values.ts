import { isObject } from "../../base/json.ts";
import { type JsonObject, member, SchemaReferences } from "../../catalog/model/schema-references.ts";

/** Draws of a number in [0, 1), the same on every run. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const FORMATS: Record<string, string> = {
  "date-time": "2026-01-02T03:04:05Z",
  date: "2026-01-02",
  time: "03:04:05Z",
  email: "a@example.org",
  uri: "https://example.org/a",
  "uri-reference": "/a",
  url: "https://example.org/a",
  uuid: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
  hostname: "example.org",
  ipv4: "192.0.2.1",
};

/**
 * Values that a schema is likely to accept; whether it does is for a validator to say. Properties are those that the
 * schema speaks of: one that speaks of no others has others only where it says so.
 */
export class ValueSampler {
  readonly #references: SchemaReferences;
  readonly #random: () => number;

  constructor(schema: unknown, random: () => number) {
    this.#references = new SchemaReferences(schema);
    this.#random = random;
  }

  sample(schema: unknown, depth = 0): unknown {
    if (!isObject(schema)) return this.#anything();
    const ref = member(schema, "$ref");
    if (typeof ref === "string" && depth < 12) {
      const target = this.sample(this.#references.resolve(ref), depth + 1);
      const own = isObject(target) && "properties" in schema ? this.#object(schema, depth) : {};
      return this.#also(schema, isObject(target) ? { ...own, ...target } : target, depth);
    }
    if (Object.hasOwn(schema, "const")) return schema.const;
    const values = member(schema, "enum");
    if (Array.isArray(values) && values.length > 0) return this.#pick(values);
    if (schema.nullable === true && this.#random() < 0.2) return null;
    const combines = ["anyOf", "oneOf", "allOf", "if"].some((keyword) => keyword in schema);
    const own = combines && this.#impliedType(schema) === "any" && !("type" in schema);
    return this.#also(schema, own ? undefined : this.#ofType(schema, depth), depth);
  }

  /** Adds what combinations ask for. */
  #also(schema: JsonObject, value: unknown, depth: number): unknown {
    let result = value;
    const add = (part: unknown): void => {
      if (isObject(result) && isObject(part)) result = { ...result, ...part };
      else if (result === undefined) result = part;
    };
    for (const keyword of ["anyOf", "oneOf"]) {
      const members = member(schema, keyword);
      if (Array.isArray(members) && members.length > 0) add(this.sample(this.#pick(members), depth + 1));
    }
    const all = member(schema, "allOf");
    if (Array.isArray(all)) for (const each of all) add(this.sample(each, depth + 1));
    if (isObject(schema.if)) {
      const holds = this.#random() < 0.5;
      if (holds) add(this.sample(schema.if, depth + 1));
      const then = holds ? schema.then : schema.else;
      if (isObject(then)) add(this.sample(then, depth + 1));
    }
    return result;
  }

  #ofType(schema: JsonObject, depth: number): unknown {
    const types = [schema.type].flat().filter((type) => typeof type === "string");
    const type = types.length > 0 ? this.#pick(types) : this.#impliedType(schema);
    switch (type) {
      case "string":
        return this.#string(schema);
      case "number":
      case "integer":
        return this.#number(schema);
      case "boolean":
        return this.#random() < 0.5;
      case "null":
        return null;
      case "array":
        return this.#array(schema, depth);
      case "object":
        return this.#object(schema, depth);
      default:
        return this.#anything();
    }
  }

  #impliedType(schema: JsonObject): string {
    if (["properties", "required", "additionalProperties", "patternProperties"].some((k) => k in schema))
      return "object";
    return "items" in schema || "prefixItems" in schema ? "array" : "any";
  }

  #string(schema: JsonObject): string {
    const format = FORMATS[String(schema.format)];
    if (format !== undefined) return format;
    const text = this.#pick(["a", "some text", "0123456789abcdef01234567", '"quoted"\n\u2028', "x-1"]);
    const least = typeof schema.minLength === "number" ? schema.minLength : 0;
    const most = typeof schema.maxLength === "number" ? schema.maxLength : 1_000;
    return text.padEnd(Math.min(least, 1_000), "a").slice(0, most);
  }

  #number(schema: JsonObject): number {
    const least = numberOr(schema.minimum, numberOr(schema.exclusiveMinimum, -2) + 1);
    const most = numberOr(schema.maximum, numberOr(schema.exclusiveMaximum, least + 100) - 1);
    const step = numberOr(schema.multipleOf, 1);
    return Math.max(least, Math.floor((least + this.#random() * (most - least)) / step) * step);
  }

  #array(schema: JsonObject, depth: number): unknown[] {
    const items = member(schema, "items");
    const prefix = member(schema, "prefixItems") ?? (Array.isArray(items) ? items : []);
    const after = Array.isArray(items) ? schema.additionalItems : items;
    const least = numberOr(schema.minItems, 0);
    const most = Math.min(numberOr(schema.maxItems, 4), 4);
    const wanted = depth > 8 ? least : Math.max(least, Math.floor(this.#random() * (most + 1)));
    const values = (Array.isArray(prefix) ? prefix : [])
      .slice(0, wanted)
      .map((each) => this.sample(each, depth + 1));
    while (values.length < wanted && after !== false) values.push(this.sample(after, depth + 1));
    return values;
  }

  #object(schema: JsonObject, depth: number): JsonObject {
    const value: JsonObject = {};
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const set = (name: string, part: unknown): void => {
      Object.defineProperty(value, name, {
        value: part,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    };
    for (const [name, each] of isObject(schema.properties) ? Object.entries(schema.properties) : []) {
      const wanted = required.delete(name) || (depth < 6 && this.#random() < 0.5);
      if (wanted && each !== false) set(name, this.sample(each, depth + 1));
    }
    for (const name of required) if (typeof name === "string") set(name, this.#anything());
    const additional = schema.additionalProperties;
    if (additional !== undefined && additional !== false && depth < 6 && this.#random() < 0.5)
      set("some other", this.sample(additional, depth + 1));
    for (const [pattern, each] of isObject(schema.patternProperties)
      ? Object.entries(schema.patternProperties)
      : [])
      set(pattern.replace(/[^\w-]/g, "") || "a", this.sample(each, depth + 1));
    return value;
  }

  #anything(): unknown {
    return this.#pick(["text", 7, true, null, ["a", 1], { a: "b" }]);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }
}

/** A value with one thing changed somewhere: of another type, missing, unknown, or one that should not be there. */
export function mutate(value: unknown, random: () => number): unknown {
  const paths: (string | number)[][] = [];
  const visit = (part: unknown, path: (string | number)[]): void => {
    paths.push(path);
    if (Array.isArray(part)) part.forEach((each, i) => void visit(each, [...path, i]));
    else if (isObject(part)) for (const [name, each] of Object.entries(part)) visit(each, [...path, name]);
  };
  visit(value, []);
  const path = paths[Math.floor(random() * paths.length)] ?? [];
  return change(value, path, random);
}

function change(value: unknown, path: readonly (string | number)[], random: () => number): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return changeHere(value, random);
  if (Array.isArray(value)) return value.map((each, i) => (i === step ? change(each, rest, random) : each));
  if (!isObject(value)) return value;
  if (rest.length === 0 && random() < 0.3) {
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== step));
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, name === step ? change(each, rest, random) : each]),
  );
}

function changeHere(value: unknown, random: () => number): unknown {
  if (isObject(value) && random() < 0.5) return { ...value, "not a property": 1 };
  const others = ["not a value", 987_654, true, null, ["not an item"], { "not a property": 1 }];
  const kind = (each: unknown) => (each === null ? "null" : Array.isArray(each) ? "array" : typeof each);
  const different = others.filter((each) => kind(each) !== kind(value) || random() < 0.2);
  return different[Math.floor(random() * different.length)];
}

function numberOr(value: unknown, other: number): number {
  return typeof value === "number" ? value : other;
}
