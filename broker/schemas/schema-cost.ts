import { isObject } from "../../base/json.ts";

/**
 * Estimates an upper bound on the time of a check from schema and value, before anything is compiled.
 *
 * Without recursion and comparisons between values, every subschema looks at a value once. How many look at it depends on its
 * depth, so schema and value are counted by depth. A step takes about 20 nanoseconds.
 */

export interface SchemaCost {
  /** By depth: the steps for each value at that depth. */
  steps: readonly number[];
  /** By depth: how many times the characters of each string at that depth are read. */
  readings: readonly number[];
  /**
   * Whether the schema has something that can take longer than its steps: a regular expression, or a comparison of all
   * items. Neither takes more memory.
   */
  mayRunAway: boolean;
}

/** The maximum number of subschemas of one schema. Compiling takes about a tenth of a millisecond for each. */
const MAX_SUBSCHEMAS = 64;
const MAX_KEYWORD_STEPS = 8_000;
const MAX_SCHEMA_DEPTH = 24;

const MAX_STEPS = 250_000;
const CHARS_PER_STEP = 2;
/** Steps for looking up one name in an object. */
const LOOKUP_STEPS = 4;
/** Steps for a comparison of decimal numbers: most take 1.5 microseconds, those of hundreds of digits five. */
const DECIMAL_STEPS = 75;
/** Steps for each member when all members of an object are visited, which is slow in large objects. */
const MEMBER_STEPS = 8;
/** Longer names cost more, because each step may read the complete name. */
const SHORT_NAME_CHARS = 64;
/**
 * The cost of a step in a schema that may reject a value without ending the check, because each rejection makes an error.
 */
const TRIAL_FACTOR = 12;

/** Ajv compares up to this many names one after the other. For more it uses a lookup. */
const MAX_NAMES_COMPARED = 8;

/**
 * Keywords whose cost is not estimated, because it can multiply. For example, everything below an anchor is compiled again
 * for each anchor above it.
 */
const UNCOUNTED = [
  "unevaluatedProperties",
  "unevaluatedItems",
  "$dynamicRef",
  "$dynamicAnchor",
  "$recursiveRef",
  "$recursiveAnchor",
];
const SAME_VALUE_LISTS = ["allOf", "anyOf", "oneOf"];
const SAME_VALUE = ["not", "if", "then", "else"];
/** Keywords whose subschemas may reject a value that is nevertheless valid. */
const TRIALS = ["anyOf", "oneOf", "not", "if"];
const SAME_VALUE_BY_NAME = ["dependentSchemas", "dependencies"];
/** Keywords that divide members and items among their subschemas: each member is checked by one of them. */
const MEMBERS = ["additionalProperties", "items", "additionalItems", "prefixItems"];
const WALKS_MEMBERS = [
  "additionalProperties",
  "items",
  "additionalItems",
  "contains",
  "propertyNames",
  "patternProperties",
  "minProperties",
  "maxProperties",
];

/**
 * The longest pattern. Compiling a regular expression in a thread cannot be interrupted. Groups, alternatives and large
 * character classes make it slow; without them the time grows only with the length.
 */
const MAX_PATTERN_CHARS = 200;
const LARGE_CLASS = /\\p/i;
const ESCAPE_OR_CLASS = /\\.|\[(?:\\.|[^\]\\])*\]/gs;
const GROUP_OR_ALTERNATIVE = /[()|]/;

type Schema = Readonly<Record<string, unknown>>;

class Uncounted extends Error {}

/** The cost of a schema; `undefined` if it cannot be estimated, or if compiling alone takes long. */
export function costOfSchema(schema: unknown): SchemaCost | undefined {
  const counted = { root: schema, subschemas: 0, keywordSteps: 0, depth: 0, mayRunAway: false };
  try {
    const levels = costOf(schema, counted, 1);
    return { ...levels, mayRunAway: counted.mayRunAway };
  } catch (error) {
    if (error instanceof Uncounted) return undefined;
    throw error;
  }
}

/** Whether checking a value takes few enough steps to be done in this thread. Finding out takes no longer than the check. */
export function isCheap(cost: SchemaCost, value: unknown): boolean {
  let left = MAX_STEPS;
  const visit = (part: unknown, depth: number): boolean => {
    left -= cost.steps[depth] ?? 0;
    if (typeof part === "string") left -= ((cost.readings[depth] ?? 0) * part.length) / CHARS_PER_STEP;
    if (left < 0) return false;
    if (typeof part !== "object" || part === null || depth + 1 >= cost.steps.length) return true;
    if (Array.isArray(part)) return part.every((item) => visit(item, depth + 1));
    const names = Object.keys(part);
    left -= names.length * MEMBER_STEPS;
    const stepsOfMember = 1 + (cost.steps[depth + 1] ?? 0) + (cost.readings[depth + 1] ?? 0);
    return names.every((name) => {
      if (name.length > SHORT_NAME_CHARS) left -= stepsOfMember * name.length;
      return visit((part as Readonly<Record<string, unknown>>)[name], depth + 1);
    });
  };
  return visit(value, 0);
}

interface Counted {
  root: unknown;
  subschemas: number;
  keywordSteps: number;
  depth: number;
  mayRunAway: boolean;
}

interface Levels {
  steps: number[];
  readings: number[];
}

/** @param factor the cost of a step: higher where a rejection does not end the check. */
function costOf(schema: unknown, counted: Counted, factor: number): Levels {
  if (++counted.subschemas > MAX_SUBSCHEMAS) throw new Uncounted();
  if (!isObject(schema)) return { steps: [factor], readings: [0] };
  if (++counted.depth > MAX_SCHEMA_DEPTH) throw new Uncounted();
  // References below an `$id` are relative to it, which is not followed here.
  if (counted.depth > 1 && schema.$id !== undefined) throw new Uncounted();
  if (UNCOUNTED.some((keyword) => schema[keyword] !== undefined)) throw new Uncounted();
  if ([schema.pattern, ...namesOf(schema.patternProperties)].some(isLongToCompile)) throw new Uncounted();
  if (runsAway(schema)) counted.mayRunAway = true;
  const cost: Levels = { steps: [ownSteps(schema, counted) * factor], readings: [ownReadings(schema)] };
  for (const [keyword, same] of onSameValue(schema, counted.root)) {
    const isTrial = TRIALS.includes(keyword);
    add(cost, costOf(same, counted, isTrial ? TRIAL_FACTOR : factor), 0);
  }
  const members: Levels = { steps: [], readings: [] };
  for (const each of onMembers(schema)) most(members, costOf(each, counted, factor));
  add(cost, members, 1);
  for (const each of onMembersToo(schema)) add(cost, costOf(each, counted, TRIAL_FACTOR), 1);
  if (WALKS_MEMBERS.some((keyword) => schema[keyword] !== undefined))
    add(
      cost,
      { steps: [1 + Math.min(namesOf(schema.properties).length, MAX_NAMES_COMPARED)], readings: [0] },
      1,
    );
  counted.depth--;
  return cost;
}

function isLongToCompile(pattern: unknown): boolean {
  if (typeof pattern !== "string") return false;
  if (pattern.length > MAX_PATTERN_CHARS || LARGE_CLASS.test(pattern)) return true;
  return GROUP_OR_ALTERNATIVE.test(pattern.replace(ESCAPE_OR_CLASS, ""));
}

function runsAway({ pattern, patternProperties, uniqueItems, const: constant, enum: list }: Schema): boolean {
  const constants = [constant, ...(Array.isArray(list) ? (list as unknown[]) : [])];
  return (
    pattern !== undefined ||
    patternProperties !== undefined ||
    (uniqueItems !== undefined && uniqueItems !== false) ||
    constants.some((each) => typeof each === "object" && each !== null)
  );
}

/** The steps of a schema's own keywords for one value. */
function ownSteps(schema: Schema, counted: Counted): number {
  let steps = 1;
  for (const [keyword, value] of Object.entries(schema)) {
    steps++;
    if (keyword === "multipleOf") steps += DECIMAL_STEPS;
    if (keyword === "enum" && Array.isArray(value)) steps += value.length;
    if (keyword === "required" && Array.isArray(value)) steps += value.length * LOOKUP_STEPS;
    if (keyword === "properties") steps += namesOf(value).length * LOOKUP_STEPS;
    if (!/^dependen(?:cies|tRequired|tSchemas)$/.test(keyword) || !isObject(value)) continue;
    for (const names of Object.values(value))
      steps += (1 + (Array.isArray(names) ? names.length : 0)) * LOOKUP_STEPS;
  }
  counted.keywordSteps += steps;
  if (counted.keywordSteps > MAX_KEYWORD_STEPS) throw new Uncounted();
  return steps;
}

function ownReadings(schema: Schema): number {
  return [schema.minLength, schema.maxLength].filter((limit) => limit !== undefined).length;
}

function* onSameValue(schema: Schema, root: unknown): Generator<[keyword: string, schema: unknown]> {
  for (const keyword of SAME_VALUE_LISTS) {
    const list = schema[keyword];
    if (Array.isArray(list)) for (const each of list) yield [keyword, each];
  }
  for (const keyword of SAME_VALUE) if (schema[keyword] !== undefined) yield [keyword, schema[keyword]];
  for (const keyword of SAME_VALUE_BY_NAME) {
    const byName = schema[keyword];
    if (!isObject(byName)) continue;
    for (const each of Object.values(byName)) if (!Array.isArray(each)) yield [keyword, each];
  }
  if (schema.$ref !== undefined) yield ["$ref", targetOf(schema.$ref, root)];
}

function* onMembers(schema: Schema): Generator<unknown> {
  if (isObject(schema.properties)) yield* Object.values(schema.properties);
  for (const keyword of MEMBERS) {
    const value = schema[keyword];
    if (Array.isArray(value)) yield* value;
    else if (value !== undefined) yield value;
  }
}

/** Subschemas that check members or their names in addition to those of `onMembers`. */
function* onMembersToo(schema: Schema): Generator<unknown> {
  if (schema.contains !== undefined) yield schema.contains;
  if (schema.propertyNames !== undefined) yield schema.propertyNames;
  if (isObject(schema.patternProperties)) yield* Object.values(schema.patternProperties);
}

function namesOf(value: unknown): string[] {
  return isObject(value) ? Object.keys(value) : [];
}

/** The schema that a `$ref` points to. The bounds on subschemas and depth stop recursive references. */
function targetOf(reference: unknown, root: unknown): unknown {
  if (typeof reference !== "string" || !/^#\/(?:\$defs|definitions)\/[\w.-]+$/.test(reference))
    throw new Uncounted();
  const [, keyword = "", name = ""] = reference.split("/");
  const definitions = isObject(root) ? root[keyword] : undefined;
  if (!isObject(definitions) || !Object.hasOwn(definitions, name)) throw new Uncounted();
  return definitions[name];
}

/** Adds the cost of a subschema that checks values `deeper` levels below. */
function add(cost: Levels, other: Levels, deeper: number): void {
  for (const [depth, steps] of other.steps.entries()) {
    cost.steps[depth + deeper] = (cost.steps[depth + deeper] ?? 0) + steps;
    cost.readings[depth + deeper] = (cost.readings[depth + deeper] ?? 0) + (other.readings[depth] ?? 0);
  }
}

/** Raises each level to the larger of both costs, for subschemas where only one checks a value. */
function most(cost: Levels, other: Levels): void {
  for (const [depth, steps] of other.steps.entries()) {
    cost.steps[depth] = Math.max(cost.steps[depth] ?? 0, steps);
    cost.readings[depth] = Math.max(cost.readings[depth] ?? 0, other.readings[depth] ?? 0);
  }
}
