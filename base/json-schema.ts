import { isObject } from "./json.ts";

/** A place in a schema, and a predicate that says what is wrong there. */
interface FormProblem {
  path: readonly PropertyKey[];
  message: string;
}

const TYPES = ["object", "array", "string", "number", "integer", "boolean", "null"];
const MAX_DEPTH = 32;

/** Keywords whose value is a schema, a mapping of names to schemas, or a list of schemas. */
const SCHEMA = ["items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"];
const SCHEMAS_BY_NAME = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const SCHEMA_LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NUMBERS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"];

/**
 * Finds the first part of a JSON Schema (2020-12) whose form breaks the specification, so that the author of the schema learns where
 * the mistake is. Schemas from servers are not checked.
 */
export function findSchemaProblem(
  schema: unknown,
  path: readonly PropertyKey[],
  depth = 0,
): FormProblem | undefined {
  if (typeof schema === "boolean") return undefined;
  if (!isObject(schema)) return { path, message: "must be a JSON Schema, as a mapping" };
  if (depth > MAX_DEPTH) return { path, message: `nests deeper than ${MAX_DEPTH} levels` };
  for (const [key, value] of Object.entries(schema)) {
    const at = [...path, key];
    const problem = problemOf(key, value, at) ?? findBelow(key, value, at, depth);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOf(key: string, value: unknown, path: readonly PropertyKey[]): FormProblem | undefined {
  const isOf = (one: (each: unknown) => boolean) => Array.isArray(value) && value.every(one);
  const isType = (each: unknown) => typeof each === "string" && TYPES.includes(each);
  if (key === "type" && !isType(value) && !isOf(isType))
    return { path, message: `must be one of ${TYPES.join(", ")}` };
  if (key === "required" && !isOf((each) => typeof each === "string"))
    return { path, message: "must be a list of names of properties, such as [text]" };
  if (key === "enum" && !Array.isArray(value)) return { path, message: "must be a list of values" };
  if (NUMBERS.includes(key) && typeof value !== "number") return { path, message: "must be a number" };
  if (COUNTS.includes(key) && !(Number.isInteger(value) && Number(value) >= 0))
    return { path, message: "must be a whole number" };
  if (key === "pattern" && !isPattern(value)) return { path, message: "must be a regular expression" };
  return undefined;
}

function findBelow(
  key: string,
  value: unknown,
  path: readonly PropertyKey[],
  depth: number,
): FormProblem | undefined {
  if (SCHEMA.includes(key)) return findSchemaProblem(value, path, depth + 1);
  const isNamed = SCHEMAS_BY_NAME.includes(key);
  if (isNamed && !isObject(value)) return { path, message: "must be a mapping of names to schemas" };
  if (!isNamed && !SCHEMA_LISTS.includes(key)) return undefined;
  if (!isNamed && !Array.isArray(value)) return { path, message: "must be a list of schemas" };
  const entries: [PropertyKey, unknown][] = Array.isArray(value)
    ? value.map((each, index) => [index, each])
    : Object.entries(value as object);
  for (const [name, each] of entries) {
    const problem = findSchemaProblem(each, [...path, name], depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isPattern(value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    new RegExp(value, "u");
    return true;
  } catch {
    return false;
  }
}
