import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { repairSchema } from "./schema-repair.ts";

const OPTIONS = {
  strict: false,
  validateSchema: false,
  addUsedSchema: false,
  logger: false,
  verbose: true,
} as const;

const MAX_VALUES_SHOWN = 12;
const MAX_TEXT_CHARS = 80;

/** Compiled validators by schema text; the schemas of one run's tools are few. */
const compiled = new Map<string, ValidateFunction | undefined>();

/**
 * Checks a value against a JSON Schema (2020-12, or draft-07 and earlier by its `$schema`). Returns what is wrong, in
 * words that begin with the place (`.limit must be ...`), or `undefined`. Of a schema that no validator takes, what can be
 * understood is checked; the rest is for its server to say. Properties that a schema says nothing of are allowed, as it
 * allows them: only types leave them out, so that a slip is found before anything runs.
 */
export function checkAgainstSchema(schemaJson: string, value: unknown): string | undefined {
  let validate = compiled.get(schemaJson);
  if (validate === undefined && !compiled.has(schemaJson)) {
    validate = compileSchema(schemaJson);
    compiled.set(schemaJson, validate);
  }
  if (validate === undefined || passes(validate, value)) return undefined;
  const [first] = validate.errors ?? [];
  return first === undefined ? "is not valid" : describe(first);
}

/** A schema that is defined as nothing but itself has no end: it says nothing of the value. */
function passes(validate: ValidateFunction, value: unknown): boolean {
  try {
    return validate(value) === true;
  } catch {
    return true;
  }
}

/** The validator of a schema, or of what can be understood of it; `allErrors` collects all that is wrong with a value. */
export function compileSchema(schemaJson: string, allErrors = false): ValidateFunction | undefined {
  const schema: unknown = JSON.parse(schemaJson);
  // OpenAPI's word for "or null" is none of JSON Schema's: a validator takes it only beside some others.
  const foreign = schemaJson.includes('"nullable":true');
  return (
    (foreign ? undefined : compile(() => schema, allErrors)) ?? compile(() => repairSchema(schema), allErrors)
  );
}

function compile(read: () => unknown, allErrors: boolean): ValidateFunction | undefined {
  try {
    const schema = read();
    if (typeof schema === "boolean") return new Ajv2020(OPTIONS).compile(schema);
    if (typeof schema !== "object" || schema === null) return undefined;
    // An `$async` schema would be checked later, in a promise that nobody waits for.
    const { $schema: dialect, $async: _, ...rest } = schema as Record<string, unknown>;
    const options = { ...OPTIONS, allErrors };
    const ajv = /draft-0[4-7]/.test(String(dialect)) ? new Ajv(options) : new Ajv2020(options);
    (addFormats as unknown as typeof addFormats.default)(ajv);
    return ajv.compile(rest);
  } catch {
    return undefined;
  }
}

function describe(error: ErrorObject): string {
  const place = placeOf(error.instancePath);
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case "required":
      return `${place}.${String(params.missingProperty)} is missing`;
    case "additionalProperties":
    case "unevaluatedProperties": {
      const name = String(params.additionalProperty ?? params.unevaluatedProperty);
      const known = Object.keys(
        (error.parentSchema as { properties?: object } | undefined)?.properties ?? {},
      );
      const list = known.length > 0 ? `; it takes ${known.slice(0, MAX_VALUES_SHOWN).join(", ")}` : "";
      return `${place}.${name} is not a known property${list}`;
    }
    case "enum": {
      const values = Array.isArray(params.allowedValues) ? (params.allowedValues as unknown[]) : [];
      const list = values.slice(0, MAX_VALUES_SHOWN).map((value) => JSON.stringify(value));
      return `${place} must be one of ${list.join(", ")}, not ${show(error.data)}`;
    }
    case "const":
      return `${place} must be ${JSON.stringify(params.allowedValue)}, not ${show(error.data)}`;
    case "type":
      return `${place} must be ${[params.type].flat().join(" or ")}, not ${show(error.data)}`;
    default:
      return `${place} ${error.message ?? "is not valid"}`.trimEnd();
  }
}

/** A JSON pointer as a path in a script: `/items/0/name` is `.items[0].name`. */
function placeOf(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join("");
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length <= MAX_TEXT_CHARS ? text : `${text.slice(0, MAX_TEXT_CHARS)}...`;
}
