import { unite } from "./combine-types.ts";
import { isObject, type JsonObject, member } from "./schema-references.ts";
import type { SchemaWalk } from "./schema-walk.ts";
import { ANY, type Property, type TypeNode } from "./type-model.ts";

/**
 * An object: its properties, and what the others hold where the schema says so. One that says nothing of others takes
 * any, and its type has none: a misspelt name is found by the compiler, and what is sent all the same is for the schema
 * to allow and for the server to read.
 */
export function objectType(schema: JsonObject, walk: SchemaWalk): Extract<TypeNode, { kind: "object" }> {
  const declared = member(schema, "properties");
  const required = member(schema, "required");
  const names = new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
  const properties: Property[] = [];
  for (const [name, value] of isObject(declared) ? Object.entries(declared) : []) {
    const type = walk.typeOf(value);
    const documentation = walk.documentationOf(value, type);
    // Draft 3 says of a property itself that it is required; servers still do.
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
