import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { RecentlyUsed } from "../../base/recently-used.ts";
import { cutText, type SchemaViolation } from "./schema-problem.ts";
import { repairSchema } from "./schema-repair.ts";

const OPTIONS = {
  strict: false,
  validateSchema: false,
  logger: false,
  verbose: true,
  // `format` is an annotation (JSON Schema 2020-12, Validation, section 7.2.1). Servers say it of texts that do not match it:
  // pydantic writes times without the offset that RFC 3339 requires.
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
 * Checks a value against a JSON Schema (2020-12, or draft-07 and earlier by its `$schema`). Returns what is wrong,
 * or `undefined`. Of a schema that no validator takes, what can be
 * understood is checked; the rest is for its server to say. `format` rejects nothing. Properties that a schema says nothing of are allowed, as it
 * allows them: only types leave them out, so that a slip is found before anything runs.
 */
export function checkAgainstSchema(schemaJson: string, value: unknown): SchemaViolation | undefined {
  prepareSchema(schemaJson);
  const validate = compiled.get(schemaJson);
  if (validate === undefined || passes(validate, value)) return undefined;
  const [first] = validate.errors ?? [];
  // Ajv keeps the last errors, and the value with them.
  validate.errors = null;
  if (first === undefined) return { place: "", message: NOT_VALID };
  const { place, message } = violationOf(first);
  return { place, message: cutText(message, MAX_MESSAGE_CHARS) };
}

/** Compiles a schema that is about to be used, unless it is compiled already. */
export function prepareSchema(schemaJson: string): void {
  if (!compiled.has(schemaJson)) compiled.set(schemaJson, compileSchema(schemaJson), schemaJson.length);
}

/** Whether a value is valid. It counts as valid when the check itself fails, as for a schema that only refers to itself. */
function passes(validate: ValidateFunction, value: unknown): boolean {
  try {
    return validate(value) === true;
  } catch {
    return true;
  }
}

/** The validator of a schema, or of its understandable part. `allErrors` collects all errors of a value. */
export function compileSchema(schemaJson: string, allErrors = false): ValidateFunction | undefined {
  const schema: unknown = JSON.parse(schemaJson);
  // `nullable` comes from OpenAPI. Ajv accepts it only beside certain other keywords.
  const foreign = schemaJson.includes('"nullable":true');
  return (
    (foreign ? undefined : compile(() => schema, allErrors)) ?? compile(() => repairSchema(schema), allErrors)
  );
}

function compile(read: () => unknown, allErrors: boolean): ValidateFunction | undefined {
  try {
    const schema = read();
    if (typeof schema === "boolean") return new Ajv2020({ ...OPTIONS, meta: false }).compile(schema);
    if (typeof schema !== "object" || schema === null) return undefined;
    // An `$async` schema would be checked later, in a promise that nobody awaits.
    const { $schema: dialect, $async: _, ...rest } = schema as Record<string, unknown>;
    // The meta-schema takes time to read, so it is added only for the few schemas that refer to it.
    const meta = JSON.stringify(rest).includes("json-schema.org");
    const options = { ...OPTIONS, allErrors, meta };
    const isOld = typeof dialect === "string" && /draft-0[4-7]/.test(dialect);
    const ajv = isOld ? new Ajv(options) : new Ajv2020(options);
    return ajv.compile(rest);
  } catch {
    return undefined;
  }
}

function violationOf(error: ErrorObject): SchemaViolation {
  const place = placeOf(error.instancePath);
  const params = error.params as Record<string, unknown>;
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
  if (typeof value === "string") return JSON.stringify(value.length > chars ? value.slice(0, chars) : value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? String(value);
  const isArray = Array.isArray(value);
  let text = isArray ? "[" : "{";
  for (const key in value) {
    if (text.length >= chars) return text;
    if (text.length > 1) text += ",";
    if (!isArray) text += `${JSON.stringify(cutText(key, chars))}:`;
    text += beginningOf((value as Record<string, unknown>)[key], chars);
  }
  return `${text}${isArray ? "]" : "}"}`;
}
