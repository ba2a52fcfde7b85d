import { unite } from "./combine-types.ts";
import { MAX_OPTIONAL_ELEMENTS } from "./limits.ts";
import { type JsonObject, member } from "./schema-references.ts";
import type { SchemaWalk } from "./schema-walk.ts";
import { ANY, type TypeNode } from "./type-model.ts";

/** The type of an array: a tuple with `prefixItems` or draft-07's list of `items`, else a list. */
export function arrayType(schema: JsonObject, walk: SchemaWalk): TypeNode {
  const items = member(schema, "items");
  const prefix = member(schema, "prefixItems") ?? (Array.isArray(items) ? items : undefined);
  if (!Array.isArray(prefix) || prefix.length === 0) {
    return { kind: "array", items: Array.isArray(items) ? ANY : walk.typeOf(items) };
  }
  const elements = prefix.map((each) => walk.typeOf(each));
  const after = walk.typeOf(Array.isArray(items) ? schema.additionalItems : items);
  const minItems = Math.min(elements.length, countOf(schema.minItems) ?? 0);
  const closed =
    after.kind === "never" || (countOf(schema.maxItems) ?? Number.POSITIVE_INFINITY) <= elements.length;
  if (elements.length - minItems > MAX_OPTIONAL_ELEMENTS) {
    return { kind: "array", items: unite(closed ? elements : [...elements, after]) };
  }
  const tuple = { kind: "tuple" as const, items: elements, minItems };
  return closed ? tuple : { ...tuple, rest: after };
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? Math.floor(value) : undefined;
}
