import { inTurns, isLight, StepRoom, type Steps } from "../base/in-turns.ts";
import { isBigIntegerText, isObject } from "../base/json.ts";
import { member, SchemaReferences } from "../catalog/model/schema-references.ts";
import type { SchemaViolation } from "./schemas/schema-problem.ts";

/**
 * Whole numbers beyond 2^53 in the arguments of calls. A TypeScript program has them as text, because its numbers would be rounded.
 * A tool that takes a number gets the number, with all digits.
 */

/** The most schemas that one value is compared with, and the deepest nesting, because schemas come from servers. */
const MAX_SCHEMAS = 200;
const MAX_DEPTH = 64;

/**
 * Arguments as their tool takes them: a text that is a whole number beyond 2^53 becomes that number, if the tool's schema has a number
 * in its place, and no text. Copies what it changes.
 */
export function withExactNumbers(inputSchema: unknown, args: unknown): unknown {
  if (!hasBigIntegerText(args)) return args;
  return exact(args, [inputSchema], new SchemaReferences(inputSchema), 0);
}

/**
 * What is wrong with the first of some numbers that a program has rounded, as far as its tool's schema shows: it takes only whole
 * numbers there.
 *
 * @param rounded JSON pointers to numbers beyond 2^53 that JavaScript held as such.
 */
export function roundedProblem(
  inputSchema: unknown,
  args: unknown,
  rounded: readonly string[] = [],
): SchemaViolation | undefined {
  if (rounded.length === 0) return undefined;
  const references = new SchemaReferences(inputSchema);
  for (const pointer of rounded) {
    let schemas: readonly unknown[] = [inputSchema];
    let value = args;
    let place = "";
    for (const part of pointer.split("/").slice(1)) {
      const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
      schemas = schemasOf(Array.isArray(value) ? Number(name) : name, flatten(schemas, references));
      place += Array.isArray(value) ? `[${name}]` : `.${name}`;
      value = member(value, name);
    }
    const types = typesIn(flatten(schemas, references));
    if (!types.has("integer") || types.has("number") || types.has("any")) continue;
    const message =
      `is ${String(value)}, which JavaScript's numbers may have rounded: ` +
      'write a whole number beyond 2^53 as text ("12345678901234567890") or with n at its end';
    return { place, message };
  }
  return undefined;
}

/** The same for a value of any size, with turns of the event loop while its texts are looked for. */
export async function withExactNumbersInTurns(inputSchema: unknown, args: unknown): Promise<unknown> {
  if (isLight(args)) return withExactNumbers(inputSchema, args);
  return (await inTurns(bigTextSteps(args, 0))) ? withExactNumbers(inputSchema, args) : args;
}

/** The steps of `hasBigIntegerText`. */
function* bigTextSteps(value: unknown, depth: number): Steps<boolean> {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH)
    return hasBigIntegerText(value, depth);
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  const length = names?.length ?? (value as unknown[]).length;
  const room = new StepRoom();
  for (let i = 0; i < length; i++) {
    const part = (value as Record<string | number, unknown>)[names?.[i] ?? i];
    const { isFull, isHeavy } = room.take(part);
    if (isFull) yield;
    if (isHeavy ? yield* bigTextSteps(part, depth + 1) : hasBigIntegerText(part, depth + 1)) return true;
  }
  return false;
}

function hasBigIntegerText(value: unknown, depth = 0): boolean {
  if (typeof value === "string") return isBigIntegerText(value);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return false;
  return Object.values(value).some((each) => hasBigIntegerText(each, depth + 1));
}

function exact(
  value: unknown,
  schemas: readonly unknown[],
  references: SchemaReferences,
  depth: number,
): unknown {
  if (!hasBigIntegerText(value, depth)) return value;
  const flat = flatten(schemas, references);
  if (typeof value === "string") {
    const types = typesIn(flat);
    const takesNumber = types.has("integer") || types.has("number");
    return takesNumber && !types.has("string") && !types.has("any") ? BigInt(value) : value;
  }
  if (Array.isArray(value))
    return value.map((each, index) => exact(each, schemasOf(index, flat), references, depth + 1));
  return Object.fromEntries(
    Object.entries(value as object).map(([name, each]) => [
      name,
      exact(each, schemasOf(name, flat), references, depth + 1),
    ]),
  );
}

/** Schemas with those that they refer to and combine. */
function flatten(schemas: readonly unknown[], references: SchemaReferences): object[] {
  const flat = new Set<object>();
  const waiting = [...schemas];
  for (let next = waiting.pop(); next !== undefined && flat.size < MAX_SCHEMAS; next = waiting.pop()) {
    if (!isObject(next) || flat.has(next)) continue;
    flat.add(next);
    const { $ref } = next;
    if (typeof $ref === "string") waiting.push(references.resolve($ref));
    for (const keyword of ["allOf", "anyOf", "oneOf"])
      if (Array.isArray(next[keyword])) waiting.push(...(next[keyword] as unknown[]));
  }
  return [...flat];
}

/** The types that schemas name; `any` if an alternative names none. */
function typesIn(flat: readonly object[]): Set<unknown> {
  const types = new Set<unknown>();
  for (const schema of flat) {
    for (const type of [member(schema, "type")].flat()) if (type !== undefined) types.add(type);
    const choices = member(schema, "enum");
    const listed = Array.isArray(choices)
      ? choices
      : Object.hasOwn(schema, "const")
        ? [member(schema, "const")]
        : [];
    for (const choice of listed) types.add(typeof choice === "bigint" ? "integer" : typeof choice);
    for (const keyword of ["anyOf", "oneOf"]) {
      const alternatives = member(schema, keyword);
      if (Array.isArray(alternatives) && alternatives.some(saysNothing)) types.add("any");
    }
  }
  return types;
}

const SAYS_TYPE = ["type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf"];

function saysNothing(schema: unknown): boolean {
  return !isObject(schema) ? schema === true : !SAYS_TYPE.some((keyword) => Object.hasOwn(schema, keyword));
}

/** The schemas of a member or an item. */
function schemasOf(name: string | number, flat: readonly object[]): unknown[] {
  return flat.flatMap((schema) => {
    if (typeof name === "number") {
      const items = member(schema, "items");
      const first = member(schema, "prefixItems") ?? (Array.isArray(items) ? items : undefined);
      if (Array.isArray(first) && name < first.length) return [first[name]];
      return [Array.isArray(items) ? member(schema, "additionalItems") : items];
    }
    const own = member(member(schema, "properties"), name);
    return [own ?? member(schema, "additionalProperties")];
  });
}
