import { isObject } from "../../base/json/is-object.ts";
import { intersect, unite } from "./combine-types.ts";
import { type JsonObject, member } from "./schema-references.ts";
import type { SchemaWalk } from "./schema-walk.ts";
import { ANY, type TypeNode } from "./type-model.ts";

type LiteralNode = Extract<TypeNode, { kind: "literal" }>;

/**
 * The types that `if`/`then`/`else` and schemas that depend on a property give an object with the properties of `base`. No
 * type says "not". Where the condition is that a property has one of its listed values, the other case lists its other
 * values. Under any other condition the types say only which properties there may be.
 */
export function conditionalTypes(schema: JsonObject, base: JsonObject, walk: SchemaWalk): TypeNode[] {
  const dependents = ["dependentSchemas", "dependencies"].flatMap((keyword) => {
    const each = member(schema, keyword);
    return isObject(each) ? Object.values(each) : [];
  });
  const condition = member(schema, "if");
  const branches = condition === undefined ? [] : [condition, member(schema, "then"), member(schema, "else")];
  const mentioned = [...new Set([...dependents, ...branches].flatMap(propertyNames))];
  const types: TypeNode[] = [];
  if (mentioned.length > 0) {
    const properties = mentioned.map((name) => ({ name, type: ANY, required: false, documentation: {} }));
    types.push({ kind: "object", properties });
  }
  const cases = isObject(condition) ? casesOf(condition, base, walk) : undefined;
  if (cases === undefined) return types;
  const holds = intersect([cases.holds, walk.typeOf(member(schema, "then"))], () => {});
  const fails = intersect([cases.fails, walk.typeOf(member(schema, "else"))], () => {});
  return [...types, unite([holds, fails])];
}

/** The objects for which a condition on one property's value holds, and those for which it does not. */
function casesOf(condition: JsonObject, base: JsonObject, walk: SchemaWalk) {
  const [name, ...others] = propertyNames(condition);
  if (name === undefined || others.length > 0) return undefined;
  if (Object.keys(condition).some((keyword) => !["properties", "required", "type"].includes(keyword)))
    return undefined;
  const asked = literalsOf(walk.typeOf(member(member(condition, "properties"), name)));
  const listed = literalsOf(walk.typeOf(member(member(base, "properties"), name)));
  if (asked === undefined || listed === undefined) return undefined;
  const values = new Set(asked.map(({ value }) => value));
  const isRequired = Array.isArray(condition.required) && condition.required.includes(name);
  const having = (type: TypeNode, required: boolean): TypeNode => ({
    kind: "object",
    properties: [{ name, type, required, documentation: {} }],
  });
  return {
    holds: having(unite(asked), isRequired),
    // An object without the property meets the condition, unless the condition requires it.
    fails: having(unite(listed.filter(({ value }) => !values.has(value))), !isRequired),
  };
}

function literalsOf(type: TypeNode): LiteralNode[] | undefined {
  const members = type.kind === "union" ? type.members : [type];
  const literals = members.filter((each) => each.kind === "literal");
  return literals.length === members.length ? literals : undefined;
}

function propertyNames(schema: unknown): string[] {
  const properties = member(schema, "properties");
  const required = member(schema, "required");
  return [
    ...(isObject(properties) ? Object.keys(properties) : []),
    ...(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []),
  ].filter((name, i, all) => all.indexOf(name) === i);
}
