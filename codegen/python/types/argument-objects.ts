import type { TypeModel, TypeNode } from "../../../catalog/model/type-model.ts";
import { withoutIntersection } from "./resolve-intersections.ts";

const MAX_FOLLOWED = 8;

/** An object with declared properties, which are parameters. */
export type ArgumentObject = Extract<TypeNode, { kind: "object" }>;

/** The objects that arguments may be; `undefined` where nothing is known of their properties. */
export function argumentObjects(model: TypeModel): ArgumentObject[] | undefined {
  const root = followReferences(model.root, model);
  const alternatives = (root.kind === "union" ? root.members : [root])
    .map((each) => followReferences(each, model))
    .flatMap((each) => (each.kind === "union" ? each.members : [each]));
  const objects = alternatives.filter((each) => each.kind === "object");
  const isKnown =
    objects.length === alternatives.length && objects.every(({ properties }) => properties.length > 0);
  return isKnown && objects.length > 0 ? objects : undefined;
}

/** A type that is neither a reference nor an intersection, as far as it can be resolved. */
export function followReferences(type: TypeNode, model: TypeModel): TypeNode {
  let found = withoutIntersection(type, model);
  for (let i = 0; i < MAX_FOLLOWED && found.kind === "reference"; i++) {
    const { type: target } = model.definitions.get(found.name) ?? { type: { kind: "any" as const } };
    found = withoutIntersection(target, model);
  }
  return found;
}
