/**
 * The schemas of a saved program, from the one run that it was saved from. They go by the same observation as learned types (`shape.ts`).
 * Unlike these, they require what every object had, because a person reads and mends them.
 */
import { isObject } from "../../base/json.ts";
import type { JsonObject } from "../model/schema-references.ts";
import { type ObjectShape, observeShape, type Shape } from "./shape.ts";

/** How many elements of one array are looked at. A program may answer with more than a tool does. */
const MAX_ELEMENTS = 1_000;

/** The schema of a program's data: an object with these members and no others, all of them required. */
export function inferInput(data: unknown): JsonObject {
  const members = Object.entries(isObject(data) ? data : {});
  const properties = members.map(([name, value]) => [name, schemaOf(observe(value), "as it was")]);
  return {
    type: "object",
    properties: Object.fromEntries(properties) as JsonObject,
    ...required(members.map(([name]) => name)),
    additionalProperties: false,
  };
}

/** The schema of a program's value. A whole number does not count as an integer. */
export function inferOutput(value: unknown): JsonObject {
  return schemaOf(observe(value), "number");
}

function observe(value: unknown): Shape {
  return observeShape(value, undefined, MAX_ELEMENTS);
}

/** @param whole what a whole number is taken for. */
function schemaOf(shape: Shape, whole: "as it was" | "number"): JsonObject {
  const { isNull, isBoolean, number, string, items, object } = shape;
  const kinds: JsonObject[] = [];
  if (isBoolean) kinds.push({ type: "boolean" });
  if (number !== undefined) kinds.push({ type: whole === "number" ? "number" : number });
  if (string !== undefined) kinds.push({ type: "string" });
  if (items !== undefined) kinds.push(schemaOfArray(schemaOf(items, whole)));
  if (object !== undefined) kinds.push(schemaOfObject(object, whole));
  const [only, another] = kinds;
  // Of values of several kinds nothing is said.
  if (only === undefined || another !== undefined) return {};
  return isNull ? { ...only, type: [only.type as string, "null"] } : only;
}

function schemaOfArray(items: JsonObject): JsonObject {
  return Object.keys(items).length === 0 ? { type: "array" } : { type: "array", items };
}

function schemaOfObject({ seen, members, rest }: ObjectShape, whole: "as it was" | "number"): JsonObject {
  const properties = [...members].map(([name, shape]) => [name, schemaOf(shape, whole)] as const);
  return {
    type: "object",
    ...(rest === undefined || members.size > 0 ? { properties: Object.fromEntries(properties) } : {}),
    ...required([...members].filter(([, shape]) => shape.seen === seen).map(([name]) => name)),
    ...(rest === undefined ? {} : { additionalProperties: schemaOf(rest, whole) }),
  };
}

function required(names: readonly string[]): { required?: string[] } {
  return names.length === 0 ? {} : { required: [...names] };
}
