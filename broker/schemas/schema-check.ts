import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { hasBigInteger, isObject, readJson, writeJson } from "../../base/json.ts";
import { RecentlyUsed } from "../../base/recently-used.ts";
import { isDecimalMultiple } from "./decimal-multiple.ts";
import { addExactKeywords, exactSchema, replacedKeyword } from "./exact-schema.ts";
import { cutText, type SchemaViolation } from "./schema-problem.ts";

const OPTIONS = {
  strict: false,
  validateSchema: false,
  logger: false,
  verbose: true,
  // `format` is only an annotation (JSON Schema 2020-12, Validation, section 7.2.1). Servers declare formats that their texts do not
  // match: pydantic writes times without the offset that RFC 3339 requires.
  validateFormats: false,
  // This optimisation saves little time in checks, but takes most of the time of compiling.
  code: { optimize: false },
} as const;

const MAX_VALUES_SHOWN = 12;
const MAX_TEXT_CHARS = 80;
const MAX_PLACE_CHARS = 400;
const MAX_MESSAGE_CHARS = 1_000;
const NOT_VALID = "is not valid";

/** Compiled validators by schema text; `undefined` for a schema that cannot be compiled at all. */
const compiled = new RecentlyUsed<string, ValidateFunction | undefined>({
  maxEntries: 256,
  maxWeight: 4 * 1024 * 1024,
});

/**
 * Checks a value against a JSON Schema (2020-12, or draft-07 and earlier by its `$schema`). Returns what is wrong, or
 * `undefined`. If a schema is not valid, checks only the parts that can be understood, and leaves the rest to the server.
 * `format` rejects nothing. Properties that a schema does not mention are allowed, as JSON Schema says; only generated types
 * leave them out.
 */
export function checkAgainstSchema(schemaJson: string, value: unknown): SchemaViolation | undefined {
  const isExact = hasBigInteger(value);
  prepareSchema(schemaJson, isExact);
  const validate = compiled.get(keyOf(schemaJson, isExact));
  if (validate === undefined || passes(validate, value)) return undefined;
  const [first] = validate.errors ?? [];
  // Ajv keeps the last errors, and the value with them.
  validate.errors = null;
  if (first === undefined) return { place: "", message: NOT_VALID };
  const { place, message } = violationOf(first);
  return { place, message: cutText(message, MAX_MESSAGE_CHARS) };
}

/** Compiles a schema that is about to be used, unless it is compiled already. @param isExact for values with a BigInt. */
export function prepareSchema(schemaJson: string, isExact = false): void {
  const key = keyOf(schemaJson, isExact);
  if (!compiled.has(key)) compiled.set(key, compileSchema(schemaJson, { isExact }), schemaJson.length);
}

function keyOf(schemaJson: string, isExact: boolean): string {
  return isExact ? `exact ${schemaJson}` : schemaJson;
}

/** Whether a value is valid. It counts as valid if the check itself fails, for example for a schema that only refers to itself. */
function passes(validate: ValidateFunction, value: unknown): boolean {
  try {
    return validate(value) === true;
  } catch {
    return true;
  }
}

interface Compiling {
  /** Collects all errors of a value. */
  allErrors?: boolean;
  /** For values that have a BigInt. A schema with one always compares all digits. */
  isExact?: boolean;
}

/** The validator of a schema, or of its understandable part. */
export function compileSchema(
  schemaJson: string,
  { allErrors = false, isExact = false }: Compiling = {},
): ValidateFunction | undefined {
  const schema: unknown = readJson(schemaJson);
  const how = { allErrors, isExact: isExact || hasBigInteger(schema) };
  // `nullable` comes from OpenAPI. Ajv accepts it only next to certain other keywords.
  const foreign = schemaJson.includes('"nullable":true');
  return (foreign ? undefined : compile(() => schema, how)) ?? compile(() => repairSchema(schema), how);
}

function compile(
  read: () => unknown,
  { allErrors, isExact }: Required<Compiling>,
): ValidateFunction | undefined {
  try {
    const schema = read();
    if (typeof schema === "boolean") return new Ajv2020({ ...OPTIONS, meta: false }).compile(schema);
    if (typeof schema !== "object" || schema === null) return undefined;
    // An `$async` schema would be checked in a promise that is not awaited.
    const { $schema: dialect, $async: _, ...rest } = schema as Record<string, unknown>;
    // The meta-schema takes time to read, so it is added only for the few schemas that refer to it.
    const meta = writeJson(rest).includes("json-schema.org");
    const options = { ...OPTIONS, allErrors, meta };
    const isOld = typeof dialect === "string" && /draft-0[4-7]/.test(dialect);
    const ajv = isOld ? new Ajv(options) : new Ajv2020(options);
    if (isExact) {
      addExactKeywords(ajv);
      return ajv.compile(exactSchema(rest) as object);
    }
    // Ajv divides in binary, which denies that 19.99 is a multiple of 0.01. Its `multipleOfPrecision` would accept 1.0000001.
    ajv.removeKeyword("multipleOf").addKeyword({
      keyword: "multipleOf",
      type: "number",
      schemaType: "number",
      validate: (divisor: number, value: number) => isDecimalMultiple(value, divisor),
      errors: false,
    });
    return ajv.compile(rest);
  } catch {
    return undefined;
  }
}

function violationOf(error: ErrorObject): SchemaViolation {
  const place = placeOf(error.instancePath);
  const params = error.params as Record<string, unknown>;
  const replaced = replacedKeyword(error.keyword);
  if (replaced !== undefined) {
    const { keyword, sign } = replaced;
    if (sign !== undefined) return { place, message: `must be ${sign} ${show(error.schema)}` };
    const given = { type: error.schema, allowedValues: error.schema, allowedValue: error.schema };
    return violationOf({ ...error, keyword, params: given });
  }
  switch (error.keyword) {
    case "required":
      return { place: `${place}.${name(params.missingProperty)}`, message: "is missing" };
    case "additionalProperties":
    case "unevaluatedProperties": {
      const unknown = name(params.additionalProperty ?? params.unevaluatedProperty);
      const known = Object.keys(
        (error.parentSchema as { properties?: object } | undefined)?.properties ?? {},
      );
      const list = known.slice(0, MAX_VALUES_SHOWN).map(name).join(", ");
      const message = `is not a known property${known.length > 0 ? `; it takes ${list}` : ""}`;
      return { place: `${place}.${unknown}`, message };
    }
    case "enum": {
      const values = Array.isArray(params.allowedValues) ? (params.allowedValues as unknown[]) : [];
      const list = values.slice(0, MAX_VALUES_SHOWN).map(show);
      return { place, message: `must be one of ${list.join(", ")}, not ${show(error.data)}` };
    }
    case "const":
      return { place, message: `must be ${show(params.allowedValue)}, not ${show(error.data)}` };
    case "type":
      return {
        place,
        message: `must be ${[params.type].flat().join(" or ")}, not ${show(error.data)}`,
      };
    case "multipleOf":
      return { place, message: `must be a multiple of ${show(error.schema)}, not ${show(error.data)}` };
    default:
      return { place, message: (error.message ?? NOT_VALID).trimEnd() };
  }
}

/** A JSON pointer in the notation of a script: `/items/0/name` becomes `.items[0].name`. */
function placeOf(pointer: string): string {
  const place = pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${name(part)}`))
    .join("");
  return cutText(place, MAX_PLACE_CHARS);
}

function name(value: unknown): string {
  return cutText(String(value), MAX_TEXT_CHARS);
}

/** The beginning of a value's JSON text. */
function show(value: unknown): string {
  return cutText(beginningOf(value, MAX_TEXT_CHARS + 1), MAX_TEXT_CHARS);
}

/** The JSON text of a value, which may end early once it has `chars` characters. */
function beginningOf(value: unknown, chars: number): string {
  if (typeof value === "string") return writeJson(value.length > chars ? value.slice(0, chars) : value);
  if (typeof value !== "object" || value === null) return writeJson(value) ?? String(value);
  const isArray = Array.isArray(value);
  let text = isArray ? "[" : "{";
  for (const key in value) {
    if (text.length >= chars) return text;
    if (text.length > 1) text += ",";
    if (!isArray) text += `${writeJson(cutText(key, chars))}:`;
    text += beginningOf((value as Record<string, unknown>)[key], chars);
  }
  return `${text}${isArray ? "]" : "}"}`;
}

/**
 * Repairs invalid JSON Schemas of servers: keywords of draft 3 and 4, OpenAPI's `nullable`, keywords with values of the
 * wrong type, dangling references. A repaired schema is valid 2020-12. It keeps what can be understood. The rest rejects
 * nothing, and is left to the server.
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
function repairSchema(schema: unknown): boolean | Schema {
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

/** Replaces keywords of earlier drafts with those of 2020-12. */
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

function readNumber(value: unknown): number | bigint | undefined {
  return typeof value === "number" || typeof value === "bigint" ? value : undefined;
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
