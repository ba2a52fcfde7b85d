import type { Ajv, KeywordDefinition } from "ajv";
import { isObject } from "../../base/json.ts";
import { isDecimalMultiple } from "./decimal-multiple.ts";

/**
 * Schemas for values with whole numbers beyond 2^53, which are BigInts on the host. Ajv knows no BigInt, so the keywords that
 * concern numbers are replaced by others, which compare all digits. Values without a BigInt do not need them.
 */

type Numeric = number | bigint;

const PREFIX = "exact:";

/** Keywords whose value is data, not a schema. */
const DATA: ReadonlySet<string> = new Set(["default", "examples", "example"]);

/** Keywords whose value has schemas by name. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependentSchemas",
  "dependencies",
  "$defs",
  "definitions",
]);

const BOUNDS: Readonly<Record<string, { sign: string; holds: (value: Numeric, bound: Numeric) => boolean }>> =
  {
    minimum: { sign: ">=", holds: (value, bound) => value >= bound },
    maximum: { sign: "<=", holds: (value, bound) => value <= bound },
    exclusiveMinimum: { sign: ">", holds: (value, bound) => value > bound },
    exclusiveMaximum: { sign: "<", holds: (value, bound) => value < bound },
    multipleOf: { sign: "multiple of", holds: isDecimalMultiple },
  };

const KEYWORDS: readonly KeywordDefinition[] = [
  ...["type", "enum", "const"].map((keyword) => ({ keyword, validate: checkOf(keyword) })),
  ...Object.entries(BOUNDS).map(([keyword, { holds }]) => ({
    keyword,
    validate: (bound: Numeric, value: unknown) => !isNumeric(value) || holds(value, bound),
  })),
].map(({ keyword, validate }) => ({ keyword: PREFIX + keyword, validate }));

function checkOf(keyword: string): (schema: unknown, value: unknown) => boolean {
  if (keyword === "type") return (types, value) => [types].flat().some((type) => isOfType(type, value));
  if (keyword === "const") return (wanted, value) => isEqual(wanted, value);
  return (choices, value) => (choices as unknown[]).some((choice) => isEqual(choice, value));
}

/** The names that the replaced keywords had, with what Ajv says of them. */
export function replacedKeyword(keyword: string): { keyword: string; sign: string | undefined } | undefined {
  if (!keyword.startsWith(PREFIX)) return undefined;
  const name = keyword.slice(PREFIX.length);
  return { keyword: name, sign: BOUNDS[name]?.sign };
}

/** Teaches an Ajv the keywords of `exactSchema`. */
export function addExactKeywords(ajv: Ajv): void {
  for (const definition of KEYWORDS) ajv.addKeyword({ ...definition });
}

/**
 * A copy of a schema with the keywords about numbers replaced.
 *
 * @throws TypeError for a bound that is no number.
 */
export function exactSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(exactSchema);
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([keyword, value]): [string, unknown] => {
    if (DATA.has(keyword)) return [keyword, undefined];
    if (NAMED.has(keyword) && isObject(value))
      return [
        keyword,
        Object.fromEntries(Object.entries(value).map(([name, each]) => [name, exactSchema(each)])),
      ];
    if (keyword === "type" || (keyword === "enum" && Array.isArray(value)) || keyword === "const")
      return [PREFIX + keyword, value];
    if (Object.hasOwn(BOUNDS, keyword)) {
      if (!isNumeric(value)) throw new TypeError(`${keyword} is no number`);
      return [PREFIX + keyword, value];
    }
    return [keyword, exactSchema(value)];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function isNumeric(value: unknown): value is Numeric {
  return typeof value === "number" || typeof value === "bigint";
}

function isOfType(type: unknown, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "number":
      return isNumeric(value);
    case "integer":
      return typeof value === "bigint" || Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((each, index) => isEqual(each, b[index]));
  if (isObject(a) && isObject(b)) {
    const names = Object.keys(a);
    return (
      names.length === Object.keys(b).length &&
      names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]))
    );
  }
  // A number and a BigInt can be the same number.
  // biome-ignore lint/suspicious/noDoubleEquals: it compares them exactly.
  return isNumeric(a) && isNumeric(b) ? a == b : a === b;
}
