import { byCodeUnit } from "../../base/by-code-unit.ts";
import type { JsonObject } from "../model/schema-references.ts";
import { asMap } from "./merge-shapes.ts";
import { objectKind } from "./recognize-map.ts";
import type { ObjectShape, Shape, StringShape } from "./shape.ts";

/** How often a text must have been seen before its choices are believed: at all, and for each choice. */
const MIN_SEEN = 20;
const MIN_SEEN_EACH = 5;

/**
 * The JSON Schema of a shape, with members in one order, whatever order they were seen in. No member is required. Of what was
 * seen as null alone, nothing is said.
 */
export function schemaOfShape(shape: Shape): JsonObject {
  if (shape.isAny) return {};
  const kinds: JsonObject[] = [];
  if (shape.isBoolean) kinds.push({ type: "boolean" });
  if (shape.number !== undefined) kinds.push({ type: shape.number });
  if (shape.string !== undefined) kinds.push(schemaOfText(shape.string, shape.seen));
  if (shape.items !== undefined) kinds.push(schemaOfArray(shape.items));
  if (shape.object !== undefined) kinds.push(schemaOfObject(shape.object));
  const [only, another] = kinds;
  if (only === undefined) return {};
  if (another === undefined && !shape.isNull) return only;
  return { anyOf: shape.isNull ? [...kinds, { type: "null" }] : kinds };
}

function schemaOfText({ format, choices = [] }: StringShape, seen: number): JsonObject {
  const isSure = choices.length >= 2 && seen >= Math.max(MIN_SEEN, MIN_SEEN_EACH * choices.length);
  return {
    type: "string",
    ...(isSure ? { enum: [...choices] } : {}),
    ...(format === "plain" ? {} : { format }),
  };
}

function schemaOfArray(items: Shape): JsonObject {
  const schema = items.seen === 0 ? {} : schemaOfShape(items);
  return Object.keys(schema).length === 0 ? { type: "array" } : { type: "array", items: schema };
}

function schemaOfObject(object: ObjectShape): JsonObject {
  const kind = objectKind(object);
  if (kind === "open") return { type: "object", additionalProperties: {} };
  const { members, rest } = kind === "map" ? asMap(object) : object;
  const sorted = [...members].sort(([a], [b]) => byCodeUnit(a, b));
  return {
    type: "object",
    ...(sorted.length === 0
      ? {}
      : { properties: Object.fromEntries(sorted.map(([name, shape]) => [name, schemaOfShape(shape)])) }),
    ...(rest === undefined ? {} : { additionalProperties: schemaOfShape(rest) }),
  };
}
