import { isObject } from "../../base/json/is-object.ts";
import { unite } from "./combine-types.ts";
import { type JsonObject, member } from "./schema-references.ts";
import type { SchemaWalk } from "./schema-walk.ts";
import { ANY, type Property, type TypeNode } from "./type-model.ts";

/**
 * The type of an object: its properties, and what further properties hold where the schema says so. A schema that says
 * nothing of further properties accepts any; its type has none, so that the compiler finds a misspelt name.
 */
export function objectType(schema: JsonObject, walk: SchemaWalk): Extract<TypeNode, { kind: "object" }> {
  const declared = member(schema, "properties");
  const required = member(schema, "required");
  const names = new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
  const properties: Property[] = [];
  for (const [name, value] of isObject(declared) ? Object.entries(declared) : []) {
    const type = walk.typeOf(value);
    const documentation = walk.documentationOf(value, type);
    // In draft 3 `required` is a member of the property, and servers still write that.
    const isRequired = names.delete(name) || member(value, "required") === true;
    properties.push({ name, type, required: isRequired, documentation });
  }
  for (const name of names) properties.push({ name, type: ANY, required: true, documentation: {} });
  const rest = restType(schema, walk);
  if (properties.length === 0) return { kind: "object", properties, rest: rest ?? ANY };
  if (rest === undefined || rest.kind === "never") return { kind: "object", properties };
  // An index signature must allow what the properties hold; only `any` is sure to.
  return { kind: "object", properties, rest: ANY };
}

function restType(schema: JsonObject, walk: SchemaWalk): TypeNode | undefined {
  const patterns = member(schema, "patternProperties");
  const types = isObject(patterns) ? Object.values(patterns).map((each) => walk.typeOf(each)) : [];
  const additional = ["additionalProperties", "unevaluatedProperties"].find((each) =>
    Object.hasOwn(schema, each),
  );
  if (additional !== undefined) types.push(walk.typeOf(schema[additional]));
  return types.length === 0 ? undefined : unite(types);
}
