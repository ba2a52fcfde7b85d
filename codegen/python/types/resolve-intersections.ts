import { ANY, intersect, type TypeModel, type TypeNode, unite } from "../../../catalog/model/type-model.ts";

/** Alternatives that one intersection may have. Beyond them it is wider. */
const MAX_ALTERNATIVES = 64;

/** References that are followed from one within another. */
const MAX_FOLLOWED = 8;

/**
 * The same type without an intersection at its top: Python has no types for values that have two types. Objects become one
 * object, alternatives are multiplied. What cannot be merged is wider.
 */
export function withoutIntersection(type: TypeNode, model: TypeModel): TypeNode {
  if (type.kind !== "intersection") return type;
  let combinations: TypeNode[][] = [[]];
  for (const member of type.members) {
    const alternatives = alternativesOf(member, model, 0);
    if (combinations.length * alternatives.length > MAX_ALTERNATIVES) continue;
    combinations = combinations.flatMap((before) => alternatives.map((each) => [...before, each]));
  }
  return unite(
    combinations.map((members) => {
      const merged = intersect(members, () => {});
      return merged.kind === "intersection" ? widest(merged.members) : merged;
    }),
  );
}

function alternativesOf(type: TypeNode, model: TypeModel, followed: number): TypeNode[] {
  if (type.kind === "union") return type.members.flatMap((each) => alternativesOf(each, model, followed));
  if (type.kind === "intersection") {
    const resolved = withoutIntersection(type, model);
    return resolved.kind === "intersection" ? [ANY] : alternativesOf(resolved, model, followed + 1);
  }
  if (type.kind !== "reference") return [type];
  const definition = model.definitions.get(type.name);
  if (definition === undefined || followed >= MAX_FOLLOWED) return [ANY];
  return alternativesOf(definition.type, model, followed + 1);
}

/** A type that all values of an intersection of lists have. */
function widest(members: readonly TypeNode[]): TypeNode {
  const isList = members.every(({ kind }) => kind === "array" || kind === "tuple");
  return isList ? { kind: "array", items: ANY } : ANY;
}
