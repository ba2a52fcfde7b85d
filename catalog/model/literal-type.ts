import { intersect, unite } from "./combine-types.ts";
import { MAX_ENUM_VALUES } from "./limits.ts";
import { type JsonObject, member } from "./schema-references.ts";
import { ANY, NEVER, type TypeNode } from "./type-model.ts";

/** The type of the values that `const` and `enum` allow. */
export function narrowToValues(
  byType: TypeNode,
  schema: JsonObject,
  onProblem: (message: string) => void,
): TypeNode {
  const values = Object.hasOwn(schema, "const") ? [schema.const] : member(schema, "enum");
  if (!Array.isArray(values) || values.length === 0) return byType;
  if (values.length > MAX_ENUM_VALUES) {
    onProblem(`an enum of more than ${MAX_ENUM_VALUES} values is of their type`);
    return byType.kind === "any" ? unite(values.map((value) => widen(literalType(value, 0)))) : byType;
  }
  const literals = unite(values.map((value) => literalType(value, 0)));
  const narrowed = intersect([byType, literals], () => {});
  if (narrowed.kind !== "never") return narrowed;
  onProblem("an enum whose values contradict its type is of its values");
  return literals;
}

/** The type of exactly this JSON value. */
function literalType(value: unknown, depth: number): TypeNode {
  if (value === null) return { kind: "null" };
  if (typeof value === "string" || typeof value === "boolean") return { kind: "literal", value };
  if (typeof value === "number")
    return Number.isFinite(value) ? { kind: "literal", value } : { kind: "number" };
  if (typeof value !== "object" || depth > 4) return ANY;
  if (Array.isArray(value)) {
    if (value.length > 64) return { kind: "array", items: ANY };
    const items = value.map((each) => literalType(each, depth + 1));
    return { kind: "tuple", items, minItems: items.length };
  }
  const entries = Object.entries(value);
  if (entries.length > 64) return { kind: "object", properties: [], rest: ANY };
  const properties = entries.map(([name, each]) => ({
    name,
    type: literalType(each, depth + 1),
    required: true,
    documentation: {},
  }));
  return properties.length === 0
    ? { kind: "object", properties, rest: NEVER }
    : { kind: "object", properties };
}

function widen(type: TypeNode): TypeNode {
  return type.kind === "literal" ? { kind: typeof type.value as "string" | "number" | "boolean" } : type;
}
