import { isObject } from "../../base/json/is-object.ts";

/**
 * Repairs invalid JSON Schemas of servers: keywords of draft 3 and 4, OpenAPI's `nullable`, keywords with values of the
 * wrong type, dangling references. A repaired schema is valid 2020-12. It keeps what can be understood and rejects nothing
 * for the rest, which is left to the server.
 */

type Schema = Record<string, unknown>;
type Reader = (value: unknown) => unknown;

const TYPES = ["string", "number", "integer", "boolean", "null", "object", "array"];

/** Reads the value of each keyword that can reject something. `undefined` drops the keyword. */
const READERS: Readonly<Record<string, Reader>> = {
  type: (value) =>
    [value].flat().every((name) => TYPES.includes(name as string)) ? nonEmpty(value) : undefined,
  enum: (value) => (Array.isArray(value) ? nonEmpty(value) : undefined),
  required: (value) => (Array.isArray(value) ? value.filter((name) => typeof name === "string") : undefined),
  properties: readSchemas,
  patternProperties: (value) =>
    isObject(value) && Object.keys(value).every(isPattern) ? readSchemas(value) : undefined,
  dependentSchemas: readSchemas,
  $defs: readSchemas,
  definitions: readSchemas,
  additionalProperties: readSchema,
  propertyNames: readSchema,
  items: readSchema,
  contains: readSchema,
  allOf: readList,
  anyOf: readList,
  prefixItems: readList,
  pattern: (value) => (isPattern(value) ? value : undefined),
  minimum: readNumber,
  maximum: readNumber,
  exclusiveMinimum: readNumber,
  exclusiveMaximum: readNumber,
  multipleOf: (value) => (typeof value === "number" && value > 0 ? value : undefined),
  minLength: readCount,
  maxLength: readCount,
  minItems: readCount,
  maxItems: readCount,
  minContains: readCount,
  minProperties: readCount,
  maxProperties: readCount,
  uniqueItems: (value) => (typeof value === "boolean" ? value : undefined),
  const: (value) => value,
  $ref: (value) => value,
  $anchor: (value) => value,
};

/** A 2020-12 schema for one that does not compile. It is never stricter than the original. */
export function repairSchema(schema: unknown): boolean | Schema {
  const repaired = readSchema(schema) ?? true;
  dropDanglingReferences(repaired, repaired);
  return repaired;
}

function readSchema(schema: unknown): boolean | Schema | undefined {
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) return undefined;
  const { nullable, ...source } = schema;
  const repaired: Schema = {};
  for (const [keyword, value] of Object.entries(asNewest(source))) {
    // A repaired schema accepts more. Below `not`, `if` and so on it would therefore reject more, so these are dropped.
    const read = Object.hasOwn(READERS, keyword) ? READERS[keyword]?.(value) : undefined;
    if (read !== undefined) define(repaired, keyword, read);
  }
  if (repaired.patternProperties === undefined && isObject(schema.patternProperties))
    delete repaired.additionalProperties;
  return nullable === true ? { anyOf: [repaired, { type: "null" }] } : repaired;
}

/** Replaces keywords of earlier drafts by those of 2020-12. */
function asNewest(schema: Schema): Schema {
  const { oneOf, ...newest } = schema;
  if (Array.isArray(oneOf)) newest.allOf = [...list(newest.allOf), { anyOf: oneOf }];
  if (Array.isArray(newest.items)) {
    newest.prefixItems = newest.items;
    newest.items = newest.additionalItems ?? true;
  }
  for (const [limit, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (newest[exclusive] === true) newest[exclusive] = newest[limit];
  }
  // In draft 3, `required` is a keyword of the property itself.
  const { properties } = newest;
  const required = isObject(properties)
    ? Object.keys(properties).filter((name) => (properties[name] as Schema | null)?.required === true)
    : [];
  if (required.length > 0) newest.required = [...list(newest.required), ...required];
  if (typeof newest.$id === "string" && newest.$id.startsWith("#")) newest.$anchor = newest.$id.slice(1);
  return newest;
}

function readSchemas(value: unknown): Schema | undefined {
  if (!isObject(value)) return undefined;
  const schemas: Schema = {};
  for (const [name, each] of Object.entries(value)) define(schemas, name, readSchema(each) ?? true);
  return schemas;
}

function readList(value: unknown): unknown {
  return nonEmpty(list(value).map((each) => readSchema(each) ?? true));
}

function readNumber(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function readCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/** Removes each `$ref` that points outside the schema, or to a part that is no longer there. */
function dropDanglingReferences(part: unknown, root: unknown): void {
  if (typeof part !== "object" || part === null) return;
  const reference = (part as Schema).$ref;
  if (reference !== undefined && !(typeof reference === "string" && resolves(reference, root)))
    delete (part as Schema).$ref;
  for (const each of Object.values(part)) dropDanglingReferences(each, root);
}

function resolves(reference: string, root: unknown): boolean {
  if (!/^#(?:\/|$)/.test(reference)) return hasAnchor(root, reference.slice(1));
  let target = root;
  for (const segment of reference.split("/").slice(1)) {
    const name = decodeSegment(segment);
    if (typeof target !== "object" || target === null || !Object.hasOwn(target, name)) return false;
    target = (target as Schema)[name];
  }
  return isObject(target) || typeof target === "boolean";
}

function hasAnchor(part: unknown, anchor: string): boolean {
  if (typeof part !== "object" || part === null) return false;
  return (part as Schema).$anchor === anchor || Object.values(part).some((each) => hasAnchor(each, anchor));
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return segment;
  }
}

function isPattern(value: unknown): boolean {
  try {
    return typeof value === "string" && new RegExp(value, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function nonEmpty<T>(value: T): T | undefined {
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}

/** Sets a member, even one named `__proto__`. */
function define(object: Schema, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
