import { isBigIntegerText } from "../../../base/json.ts";
import { fillToolError, ToolError } from "./tools.ts";

/**
 * Checks the value of a saved program against the JSON Schema that its manifest declares, in the sandbox of its caller.
 * Everything refused here violates the schema. Keywords unknown to this check, such as `pattern`, refuse nothing; `ptc test` and
 * the host check the whole schema. runner-image/python/ptc_runner/saved_value.py does the same for Python programs.
 */

type Schema = Readonly<Record<string, unknown>>;

/** Stops references that lead to themselves. */
const MAX_DEPTH = 300;
const MAX_SHOWN_CHARS = 60;

const { stringify } = JSON;
const { hasOwn, keys, entries } = Object;
const isArray = Array.isArray;

/** @throws ToolError if the tool's output schema does not allow the value. */
export function checkSavedValue(name: string, schema: unknown, value: unknown): void {
  const problem = findProblem(schema, value, { root: schema, place: "", depth: 0 });
  if (problem === undefined) return;
  throw fillToolError(new ToolError(), {
    type: "ToolError",
    server: "programs",
    tool: name.replace(/^mcp__programs__/, ""),
    message: `'${name}' gave a value that its own output schema does not allow: value${problem}`,
    retryable: false,
  });
}

interface At {
  readonly root: unknown;
  /** The path to the value, as a script would write it. */
  readonly place: string;
  readonly depth: number;
}

function findProblem(schema: unknown, value: unknown, at: At): string | undefined {
  if (schema === false) return `${at.place} is not allowed`;
  if (!isObject(schema) || at.depth > MAX_DEPTH) return undefined;
  const below = { ...at, depth: at.depth + 1 };
  if (typeof schema.$ref === "string") {
    const problem = findProblem(resolve(schema.$ref, at.root), value, below);
    if (problem !== undefined) return problem;
  }
  return (
    checkType(schema, value, at) ??
    checkChoice(schema, value, at) ??
    checkCombined(schema, value, below) ??
    (typeof value === "number" ? checkNumber(schema, value, at) : undefined) ??
    (typeof value === "string" ? checkText(schema, value, at) : undefined) ??
    (isArray(value) ? checkItems(schema, value, below) : undefined) ??
    (isObject(value) ? checkMembers(schema, value, below) : undefined)
  );
}

function checkType({ type }: Schema, value: unknown, { place }: At): string | undefined {
  const types = (isArray(type) ? type : [type]).filter((each) => typeof each === "string") as string[];
  if (types.length === 0 || types.some((each) => isOfType(each, value))) return undefined;
  return `${place} must be ${types.join(" or ")}, not ${shown(value)}`;
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value) || isBigInteger(value);
    case "number":
      return typeof value === type || isBigInteger(value);
    case "string":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}

/** Whether a value is a whole number beyond 2^53, which a program has as text. */
function isBigInteger(value: unknown): boolean {
  return typeof value === "string" && isBigIntegerText(value);
}

function checkChoice(schema: Schema, value: unknown, { place }: At): string | undefined {
  const choices = hasOwn(schema, "const") ? [schema.const] : schema.enum;
  if (!isArray(choices) || choices.some((each) => isEqual(each, value))) return undefined;
  return `${place} must be ${choices.map(shown).join(" or ").slice(0, 200)}, not ${shown(value)}`;
}

/** For `oneOf`, one match or more is enough: the alternatives may differ only in a keyword that is not known here. */
function checkCombined({ allOf, anyOf, oneOf }: Schema, value: unknown, at: At): string | undefined {
  for (const each of isArray(allOf) ? allOf : []) {
    const problem = findProblem(each, value, at);
    if (problem !== undefined) return problem;
  }
  for (const any of [anyOf, oneOf]) {
    if (!isArray(any) || any.length === 0) continue;
    const problems = any.map((each) => findProblem(each, value, at));
    if (problems.every((problem) => problem !== undefined))
      return any.length === 1 ? problems[0] : `${at.place} is none of what it may be (${shown(value)})`;
  }
  return undefined;
}

function checkNumber(schema: Schema, value: number, { place }: At): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof minimum === "number" && value < minimum)
    return `${place} must be at least ${minimum}, not ${value}`;
  if (typeof maximum === "number" && value > maximum)
    return `${place} must be at most ${maximum}, not ${value}`;
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum)
    return `${place} must be more than ${exclusiveMinimum}, not ${value}`;
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum)
    return `${place} must be less than ${exclusiveMaximum}, not ${value}`;
  return undefined;
}

function checkText({ minLength, maxLength }: Schema, value: string, { place }: At): string | undefined {
  if (typeof minLength !== "number" && typeof maxLength !== "number") return undefined;
  return checkCount(`${place} must have`, "characters", [...value].length, minLength, maxLength);
}

function checkItems(schema: Schema, value: readonly unknown[], at: At): string | undefined {
  const { items, prefixItems, additionalItems, minItems, maxItems } = schema;
  const counted = checkCount(`${at.place} must have`, "items", value.length, minItems, maxItems);
  if (counted !== undefined) return counted;
  const first = isArray(prefixItems) ? prefixItems : isArray(items) ? items : [];
  const rest = isArray(items) ? additionalItems : items;
  for (const [index, item] of value.entries()) {
    const problem = findProblem(index < first.length ? first[index] : rest, item, {
      ...at,
      place: `${at.place}[${index}]`,
    });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function checkMembers(schema: Schema, value: Schema, at: At): string | undefined {
  const { properties, required, additionalProperties, patternProperties } = schema;
  const missing = isArray(required)
    ? required.find((name) => typeof name === "string" && !hasOwn(value, name))
    : undefined;
  if (missing !== undefined) return `${at.place} must have '${String(missing)}'`;
  const counted = checkCount(
    `${at.place} must have`,
    "properties",
    keys(value).length,
    schema.minProperties,
    schema.maxProperties,
  );
  if (counted !== undefined) return counted;
  const known = isObject(properties) ? properties : {};
  const rest = isObject(patternProperties) ? undefined : additionalProperties;
  for (const [name, member] of entries(value)) {
    const isKnown = hasOwn(known, name);
    if (!isKnown && rest === false) return `${at.place} must not have '${name.slice(0, MAX_SHOWN_CHARS)}'`;
    const problem = findProblem(isKnown ? known[name] : rest, member, {
      ...at,
      place: at.place + step(name),
    });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function checkCount(
  start: string,
  what: string,
  count: number,
  least: unknown,
  most: unknown,
): string | undefined {
  if (typeof least === "number" && count < least) return `${start} at least ${least} ${what}, not ${count}`;
  if (typeof most === "number" && count > most) return `${start} at most ${most} ${what}, not ${count}`;
  return undefined;
}

/** The target of a reference within the schema; `undefined`, which allows everything, for any other reference. */
function resolve(reference: string, root: unknown): unknown {
  if (!/^#(?:\/|$)/.test(reference)) return undefined;
  let found = root;
  for (const part of reference.split("/").slice(1)) {
    const name = decode(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if ((!isObject(found) && !isArray(found)) || !hasOwn(found, name)) return undefined;
    found = (found as Schema)[name];
  }
  return found;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function isEqual(a: unknown, b: unknown): boolean {
  if (isArray(a) && isArray(b))
    return a.length === b.length && a.every((each, index) => isEqual(each, b[index]));
  if (isObject(a) && isObject(b)) {
    const names = keys(a);
    return (
      names.length === keys(b).length && names.every((name) => hasOwn(b, name) && isEqual(a[name], b[name]))
    );
  }
  return a === b;
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !isArray(value);
}

function step(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${stringify(name.slice(0, MAX_SHOWN_CHARS))}]`;
}

function shown(value: unknown): string {
  const text = stringify(value) ?? "nothing";
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}...`;
}
