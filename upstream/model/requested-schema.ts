import { isObject } from "../../base/json/is-object.ts";
import { findSchemaProblem } from "../../base/json/schema-form.ts";

const MAX_SCHEMA_CHARS = 64 * 1024;

/** What a requested schema may say: all of it can be checked, and providers know most of it. */
const KEYWORDS = new Set([
  ...["$schema", "$defs", "$ref", "$comment", "title", "description", "default", "examples"],
  ...["type", "enum", "const", "anyOf", "oneOf", "allOf"],
  ...["properties", "required", "additionalProperties"],
  ...["items", "prefixItems", "minItems", "maxItems", "uniqueItems"],
  ...["minLength", "maxLength", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
]);

/** The name of the value in what a model answers, because providers take no schema but of an object. */
export const ANSWER_MEMBER = "value";

type RequestedSchema =
  | {
      ok: true;
      /** A schema of an object whose one member is the value. */
      wrapped: Record<string, unknown>;
      /** Whether every object names all of its members and requires them, so that providers can enforce the schema. */
      isStrict: boolean;
    }
  | { ok: false; problem: string };

/** Reads a schema that a program asks for. */
export function readRequestedSchema(schema: unknown): RequestedSchema {
  const text = JSON.stringify(schema);
  if (text === undefined || text.length > MAX_SCHEMA_CHARS)
    return { ok: false, problem: `the type is larger than ${MAX_SCHEMA_CHARS} characters as a JSON Schema` };
  if (!isObject(schema)) return { ok: false, problem: "the type is no JSON Schema" };
  const misformed = findSchemaProblem(schema, []);
  if (misformed !== undefined)
    return { ok: false, problem: `the type's ${misformed.path.join(".") || "schema"} ${misformed.message}` };
  const definitions = isObject(schema.$defs) ? schema.$defs : {};
  const foreign = findForeign(schema, definitions);
  if (foreign !== undefined) return { ok: false, problem: foreign };
  const { $defs, $schema: _, ...own } = schema;
  return {
    ok: true,
    wrapped: {
      type: "object",
      properties: { [ANSWER_MEMBER]: own },
      required: [ANSWER_MEMBER],
      additionalProperties: false,
      ...($defs === undefined ? {} : { $defs }),
    },
    isStrict: isStrict(schema),
  };
}

/** A keyword or a reference that is not taken. */
function findForeign(schema: unknown, definitions: Record<string, unknown>): string | undefined {
  if (!isObject(schema)) return undefined;
  for (const [key, value] of Object.entries(schema)) {
    if (!KEYWORDS.has(key)) return `the type has '${key.slice(0, 64)}', which extract does not take`;
    if (key === "$ref" && !isKnownReference(value, definitions))
      return "the type has a $ref that leads to none of its $defs";
  }
  for (const each of schemasIn(schema)) {
    const foreign = findForeign(each, definitions);
    if (foreign !== undefined) return foreign;
  }
  return undefined;
}

function isKnownReference(reference: unknown, definitions: Record<string, unknown>): boolean {
  const name = typeof reference === "string" ? /^#\/\$defs\/([^/~%]+)$/.exec(reference)?.[1] : undefined;
  return name !== undefined && Object.hasOwn(definitions, name);
}

function isStrict(schema: unknown): boolean {
  if (!isObject(schema)) return true;
  const { properties, required, additionalProperties, type } = schema;
  if (properties !== undefined || type === "object") {
    const names = Object.keys(isObject(properties) ? properties : {});
    const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
    if (additionalProperties !== false || !names.every(isRequired)) return false;
  }
  return schemasIn(schema).every(isStrict);
}

/** The schemas that a schema holds. */
function schemasIn(schema: Record<string, unknown>): unknown[] {
  const { properties, $defs, items, additionalProperties, anyOf, oneOf, allOf, prefixItems } = schema;
  const named = [properties, $defs].flatMap((each) => (isObject(each) ? Object.values(each) : []));
  const listed = [anyOf, oneOf, allOf, prefixItems].flatMap((each) => (Array.isArray(each) ? each : []));
  return [...named, ...(listed as unknown[]), items, additionalProperties].filter(
    (each) => each !== undefined,
  );
}
